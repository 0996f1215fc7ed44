"""Secrets that their names tell, in many languages and forms, and ordinary text that has none."""

from __future__ import annotations

import re
import time

import pytest

from datasette_bear_search.search.redaction import masking, named_secrets
from datasette_bear_search.search.redaction.masking import MASK, masked, masked_part

P = "Tr0ub4" + "dor&3"
WORDS = "abandon ability able about above absent absorb abstract absurd abuse access accident"
MORE = "acid acoustic acquire across act action actor actress actual adapt add addict"
TWELVE = " ".join(f"«{word}»" for word in WORDS.split())

# Texts in which each secret stands in « ».
SECRETS = [
    # below its name
    f"Password:\n«{P}»\nand more",
    f"Some words.\n\nThe password:\n\n    «{P}»\n",
    f"**Password**\n«{P}»",
    f"## WLAN Passwort\n\n`«{P}»`",
    f"Password\n--------\n«{P}»",
    f"Password:\n```text\n«{P}»\n```",
    f"- Password:\n  - «{P}»\n- Other: words",
    f"Passwords:\n- «{P}»\n- «{P}9» (old)\n- none",
    f"> Password:\n> «{P}»",
    f"Password\n: «{P}»",
    f"Kennwort:\r\n«{P}»\r\n",
    f"パスワード：\n「«{P}»」",
    # in a table
    f"| Site | User | Password |\n|---|---|---|\n| x.org | me | «{P}» |\n"
    "| y.org | me | `«Zeb!ra99»` |\n",
    f"Site | Password\n--- | ---\nx.org | «{P}»\ny.org | see above\n\nx | {P}",
    f"| Passwort | Site |\n|:--|--|\n| «{P}» | x.org |\n| wie oben | y2.org/a |",
    f"| Name | Wi-Fi password (old) | Changed |\n|-|-|-|\n| hut | **«{P}»** | 2024-05-01 |",
    f"| 名称 | 密码 |\n|---|---|\n| 路由器 | «{P}» |",
    f"| Password | «{P}» |",
    f"name,url,username,password,note\nx,https://x.org/a1,me,«{P}»,a2note\ny,https://y.org,me,«{P}7»,",
    f"Site\tUser\tPasswort\nx\tme\t«{P}»\ny\tme2here\t«{P}x»",
    f"a;Mot de passe\nx;«{P}»",
    # signs and tags
    f"Password → «{P}»",
    f"Password:: «{P}»",
    f"Password: <code>«{P}»</code>",
    "Password: «Tr<0ub4>dor»",
    f"psk=\"«{P}»\"",
    f"changed the password to «{P}»",
    f"gpg --batch --passphrase «{P}» -d a.gpg",
    f"client --password='«{P}»' x",
    # requests
    "Authorization: Bearer «abcdefghijklmnopq»",
    "authorization: Basic «bWU6c2VjcmV0»",
    'curl -H "Authorization: Token «9f8e7d6c5b4a»" https://x.org/y',
    "Bearer «9f8e7d6c5b4a39f8e7d6c5b4a3»",
    "curl -u me:«secret-word» https://x.org",
    "curl https://x.org --user 'me:«pass1word2»'",
    "curl -s \\\n  -u me:«geheim» https://x.org",
    "curl -su 'me:«p4per;cup»' https://x.org --cookie 'theme=dark; sid=«qp39vnz02kd8»'",
    "Cookie: theme=dark; session=«8f7d6c5b4a39»; lang=de",
    "Set-Cookie: sid=«9f8e7d6c5b4a»; Path=/; Max-Age=2592000; HttpOnly",
    # commands
    "mysql -u root -p«T0rtoise» shop",
    "mysqldump -P3306 -uadmin -p'«Rain Boots»' --all-databases",
    "7z a b.7z -p\"«blue Whale»\" notes/",
    "`sshpass -p «hunter» ssh -p 2222 me@x.org`",
    "smbclient //nas/share -U kim%«Velvet33»",
    # files of programs
    "machine x.org login me password «cobble9stone»",
    "machine x.org\n  login me\n  password «cobble9stone»",
    "localhost:5432:*:me:«Sunny-Day-4»",
    "cache: redis://:«Pebble4Stone»@cache:6379/0",
    "Endpoint=sb://x.org/;SharedAccessKeyName=Root;SharedAccessKey=«pQ9rS8tU7vW6xY5z=»",
    '<add key="ApiKey" value="«83jf02kd93jf02»" />',
    # licenses of software
    "License key: «QX7P-22LM-9RTT»",
    "Lizenzschlüssel: «QX7P-22LM-9RTT»",
    "Serial «7H3KQ-9PLM2-XX4TR-88WZC»",
    # other languages
    *(
        f"{name}: «{P}»"
        for name in (
            "Пароль", "пароли", "Пароль від пошти", "Парола", "Лозинка", "密码", "密碼", "我的密码",
            "パスワード", "비밀번호", "Wachtwoord", "Wifiwachtwoord", "Hasło", "haslo", "Lösenord",
            "LÖSENORD", "Adgangskode", "Passord", "Salasana", "Heslo", "Jelszó", "Parolă", "Şifre",
            "ŞİFRE", "Parola", "Κωδικός", "ΚΩΔΙΚΟΣ", "Contraseña", "Contrasen\u0303a", "Senha",
            "Clave", "Pasahitza", "Cyfrinair",
            "Mot de passe", "MDP", "Kennwort/Passwort", "Benutzerpasswort", "كلمة المرور",
            "كلمة السر",
            "رمز عبور", "סיסמה", "סיסמא", "पासवर्ड", "Slaptažodis", "Parool", "Geslo", "Zaporka",
            "Mật khẩu", "Kata sandi", "รหัสผ่าน", "Lykilorð", "Fjalëkalimi", "Wagwoord", "პაროლი",
            "Palavra-passe", "Contrasenya", "Пароль (дача)", "Mots de passe",
        )
    ),
    f"パスワードは«{P}»",
    f"Пароль — «{P}»",
    f"Mot de passe : «{P}»",
    f"Het wachtwoord is «{P}»",
    f"Hasło to: «{P}»",
    # other signs and spaces between them
    *(
        f"Password{between}«{P}»"
        for between in (
            "：", "＝", ":\u00a0", "\u00a0:\u00a0", ":\u2009", ":\u3000", " - ", " – ", " — ",
            " -> ",
            " is ", " is: ", " for the router: ", " (wifi): ", " 2: ", "s: ", " of the hut is ",
            " = ",
        )
    ),
    *(f"{name}: «{P}»" for name in ("p/w", "P/W", "pw", "PW", "pwd", "pass", "pass phrase",
    "ｐａｓｓｗｏｒｄ")),
    *(
        f"{name}: «{P}»"
        for name in (
            "apikey", "api_key", "accessKey", "clientSecret", "authToken", "my_secret_2", "tokens",
            "WLAN-Schlüssel", "WPA2 key", "secret answer", "--password=x --token",
        )
    ),
    # second factors
    "2FA secret: «JBSW Y3DP EHPK 3PXP»",
    "2FA secret:\n«jbsw y3dp ehpk 3pxp»\n",
    "TOTP key: «JBSWY3DPEHPKWPXP»",
    "Authenticator - «JBSW-Y3DP-EHPK-3PXP-JBSW-Y3DP»",
    "Secret key: «JBSW YADP EHPK EPXP»",
    "otpauth://totp/x?secret=«JBSWY3DPEHPK3PXP»",
    "Recovery codes:\n«1234-5678»\n«abcd1-efgh2»\n\nThen words.",
    "## Backup codes\n\n1. «12345678»\n2. «a1b2c3d4»",
    "Wiederherstellungscodes: «1234-5678», «2345-6789»",
    "Codici di recupero: «1234-5678», «2345-6789»",
    "Recovery key: «123456-123456-123456-123456-123456-123456-123456-123456»",
    # seed phrases
    f"Seed phrase: {TWELVE}",
    f"The recovery phrase is\n\n{TWELVE}\n\nand stays here.",
    "Mnemonic (24 words):\n" + TWELVE + "\n" + " ".join(f"«{word}»" for word in MORE.split()),
    "Recovery phrase\n\n" + "\n".join(f"{n}. «{word}»" for n, word in enumerate(WORDS.split(), 1)),
    "seed:\n| 1 | " + " | 2 | ".join(f"«{word}»" for word in WORDS.split()) + " |",
    "Seed phrase for the wallet: " + ", ".join(f"«{word}»" for word in WORDS.split()) + ".",
    # bank accounts
    "«DE89 3704 0044 0532 0130 00»",
    "IBAN: «DE89370400440532013000» BIC COBADEFFXXX",
    "«BE68 5390 0754 7034» KBC, «NO93 8601 1117 947» DNB",
    "iban «gb29 nwbk 6016 1331 9268 19», paid",
    "«MT84MALT011000012345MTLCAST001S» and «FR14 2004 1010 0505 0001 3M02 606»",
]  # fmt: skip

ORDINARY = """\
The password is stored in the vault
The password is on the fridge, the passwords are in 1Password.
Password: see 1Password
Password: 1Password
Password: ask Anna (room 12)
Password: ********
Password: <your password>
Password: $DB_PASSWORD2
Password reset link: https://example.com/reset?id=12
password reset link
Password policy: 12-character minimum, changed every 90 days
The password is 12-character-long at least
Passwort vergessen
Passwort: siehe Schlüsselbund
Das Passwort ist wie immer.
Kennwort geändert am 3. Mai 2024
Passwörter liegen im Tresor 2 im Keller
Mot de passe oublié ?
Contraseña olvidada: https://example.es/a1
Wachtwoord vergeten? Bel 020 1234567.
Пароль: спросить у Анны
Пароль на сайте 2024 года
密码：问安娜
密码已于2024年5月更新
パスワードは金庫にあります
Heslo: viz trezor
La clave: un buen sofrito
Clave del éxito: 10 minutos de calma
Parole, parole, parole (1972)
Senha do banco: perguntar ao Rui
The secret: be kind, and stir slowly.
The key is 3 teaspoons of butter
key: C minor, token of appreciation: 1 cake
Public key cryptography was published in 1976.
Access token lifetime: 3600 s
Bearer of good news, 2024 edition
Authorization: required
Authorization: Bearer <token>
Authorization: Bearer $TOKEN
curl -u $USER:$PASS https://example.com
curl -u user:password https://example.com
docker run -u 1000:1000 image
docker run --name mysql -p3306:3306 mysql:8
mysql -u root -p shop < dump.sql
mysql -u root -p$MYSQL_PWD -P3306 shop
Recipe: cookie: 200g flour, 100g butter
Cookies: oats=50g
Set-Cookie: theme=dark; Path=/; Expires=Wed, 21 Oct 2026 07:28:00 GMT
09:30:15:standup:notes2 and localhost:8080:shop:web
Part number: AB-1234-CD, serial number: the usual
I use 2FA with an authenticator app on both phones since 2023
Two-factor: turn it on for mail, bank and cloud
OTP comes by text message, takes 30 seconds
Recovery codes: printed, in the safe
Backup codes are in the red folder (2024)
Backup: codes 12 to 20 of the list
Seed phrase: never share it with anybody, it is in the safe
The seed phrase has 12 or 24 words and must stay on paper
Seeds: tomato, basil, chard, carrot, beet, bean, pea, dill
Seed list: 12 tomatoes, 24 beans
Sow the seed two weeks before the last frost, then wait until each pair of leaves has opened
random seed: 42, then shuffle the list and take the first hundred rows of the table
Mix 200 g flour, 3 eggs, 100 ml milk and a pinch of salt.
Bake at 180 °C for 35 min, turn once after 20.
#ff8800 and #1a2b3c, rgb(12, 34, 56)
ISBN 978-3-16-148410-0, DOI 10.1000/xyz123
Call +49 30 1234 5678 90 or (020) 7946 0958.
commit 3f5a9c1e7b2d4f6a8c0e1d3b5a7f9c2e4d6b8a01
git checkout 3f5a9c1 -- src/main.py
Flight LH1234 at 14:05, seat 23A, booking XK4T9Z
Order 4111-2222, invoice RE2024-00017, customer DE123456789
DE12 3456 7890 1234 5678 90 is no account number
IBAN: ask the bank
MacBook Pro 14-inch, 32GB, serial at the back
Pass: Brenner 1370 m, open all year
compass: N 47 12.345 E 11 23.456
monkey: Bonobo12, turkey: 4.5kg-bird
The secretary: Anna-K2, tokenizer: gpt2-large
Schlüssel: Bund2go im Flur
Wi-Fi password\\nis on the router
Login and password\\n\\nThe museum gave us both in 2019.
- username\\n- password\\n- oauth2 token
| Site | Password policy |\\n|---|---|\\n| x.org | 12+chars |
| Site | Password |\\n|---|---|\\n| x.org | see vault |\\n| y.org | unchanged |
| Password | Changed |\\n|---|---|\\n| none | 2024-05-01a |
Name, e-mail, password\\nAnna, 12 years, fine
Password manager: Bitwarden2 costs 10 € a year
Der Schlüssel liegt unter Topf 3, das Kennwort kennt Max.
Im Jahr 2024 fuhren wir mit dem ICE 1234 nach Ulm.""".split("\n")


@pytest.mark.parametrize("marked", SECRETS)
def test_a_value_beside_a_secrets_name_is_masked_and_nothing_else(marked):
    text, expected = (
        re.sub("[«»]", "", marked),
        re.sub("«(.*?)»", lambda match: re.sub(r"\S", MASK, match[1]), marked),
    )
    assert masked(text) == expected
    assert masked(f"Before.\n\n{text}") == f"Before.\n\n{expected}"


@pytest.mark.parametrize("text", ORDINARY)
def test_ordinary_text_stays(text):
    text = text.replace("\\n", "\n")
    assert masked(text) == text


def test_none_of_sixty_ordinary_lines_is_masked():
    assert len(ORDINARY) >= 60
    text = "\n\n".join(ORDINARY).replace("\\n", "\n")
    assert masked(text) == text


def test_each_name_is_found_with_and_without_accents():
    for kind, names in named_secrets.described()["names"].items():
        for name in names:
            folded = named_secrets._folded(name)
            for text in (name, folded, f"{name.upper()} 密", f"Un {folded}, ja."):
                found = named_secrets._names_in(named_secrets._folded(text))
                assert folded in found[kind]


def test_a_secret_below_its_name_is_masked_in_a_part_without_the_name():
    rows = "\n".join(f"| site{number} | «{P}{number}» |" for number in range(300))
    marked = f"{'word ' * 3000}\n\n| Site | Password |\n|---|---|\n{rows}\n\nEnd."
    body = re.sub("[«»]", "", marked)
    for row in (3, 60, 250):
        part = f"| site{row} | {P}{row} |"
        assert masked_part(part, body) == f"| site{row} | {MASK * len(f'{P}{row}')} |"


@pytest.mark.parametrize(
    "text",
    [
        "password: ", "password:\n", "a1password:\n", "password|password|\n",
        "|password|\n|a1b2c3d4|\n",
        "password,a,b\n", "password", "pass ", "key=", "seed ", "seed phrase: ", "seed abandon ",
        "recovery code: ", "recovery code:\n1234-5678\n", "2fa ", "otp: jbsw ",
        "secret: jbsw y3dp ",
        "curl ", "curl -u a:b1 ", "cookie a=b12345 ", "mysql -p;;;; ", "7z -p'",
        "a:5432:", "A1B2C-", "login a password ", "-u a:b\n",
        "authorization: a ", "authorization: bearer ",
        "bearer ", "DE89 ", "DE89 3704 ", "aa11", "password for ", "password (", "password - ",
        "пароль ", "密码", "é", "İ", "ｐ", "password\u0301 ", "| password ", "password\t", "\t",
        "|", "|\n",
    ],
)  # fmt: skip
def test_no_text_takes_long(text):
    masking.require()
    text = text * (100_000 // len(text))
    started = time.process_time()
    masked(text)
    assert time.process_time() - started < 1  # it takes .2 at most; quadratic code, many seconds
