"""Invented secrets.

They are put together at run time, so that no secret scanner takes them for real ones.
"""

from __future__ import annotations

import base64
import json
import random
import string

_random = random.Random(7)
_LETTERS = string.ascii_letters + string.digits
_UPPER = string.ascii_uppercase + string.digits
_HEX = "0123456789abcdef"


def drawn(length: int, characters: str = _LETTERS) -> str:
    """Return so many random characters, the same in every run."""
    return "".join(_random.choice(characters) for _ in range(length))


def _base64(value: dict) -> str:
    return base64.urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")


def _private_key(kind: str) -> str:
    begin, end = (f"-----{word} {kind}PRIV" + "ATE KEY-----" for word in ("BEGIN", "END"))
    return "\n".join([begin, *(drawn(64) for _ in range(6)), end])


# Name → the text before a secret, the secret, and the text after it.
SECRETS: dict[str, tuple[str, str, str]] = {
    "AWS access key": ("", "AK" + "IA" + drawn(16, _UPPER), ""),
    "AWS secret key": ("aws_secret_access_key = ", drawn(40, _LETTERS + "/+"), ""),
    "GitHub, classic": ("", "gh" + "p_" + drawn(36), ""),
    "GitHub, fine-grained": ("", "github" + "_pat_" + drawn(22) + "_" + drawn(59), ""),
    "GitLab": ("", "gl" + "pat-" + drawn(20), ""),
    "Slack, bot": (
        "",
        f"xo{''}xb-{drawn(12, '123456789')}-{drawn(12, '123456789')}-{drawn(24)}",
        "",
    ),
    "Slack, app": (
        "",
        "xa" + f"pp-1-A{drawn(10, _UPPER)}-{drawn(13, '1234567')}-{drawn(64, _HEX)}",
        "",
    ),
    "Slack, hook": (
        "",
        "https://hooks."
        + f"slack.com/services/T{drawn(8, _UPPER)}/B{drawn(10, _UPPER)}/{drawn(24)}",
        "",
    ),
    "Stripe": ("", "sk" + "_live_" + drawn(24), ""),
    "Stripe, for tests": ("", "rk" + "_test_51" + drawn(97), ""),
    "Wi-Fi in a QR code": ("WIFI:T:WPA;S:home;P:", drawn(9), ";;"),
    "hash, bcrypt": ("", "$2b$12" + f"${drawn(53)}", ""),
    "hash, shadow": ("root:", "$6$" + f"{drawn(8)}${drawn(86)}", ":19000:0:"),
    "JSON web token": (
        "",
        f"{_base64({'alg': 'HS256', 'typ': 'JWT'})}"
        f".{_base64({'sub': '17', 'name': 'Ada'})}.{drawn(43)}",
        "",
    ),
    "Google API": ("", "AI" + "za" + drawn(35), ""),
    "Google OAuth": ("", "GOC" + "SPX-" + drawn(28), ""),
    "OpenAI, old": ("", "sk" + "-" + drawn(20) + "T3Blb" + "kFJ" + drawn(20), ""),
    "OpenAI, of a project": ("", "sk" + "-proj-" + drawn(74) + "T3Blb" + "kFJ" + drawn(74), ""),
    "Anthropic": ("", "sk" + "-ant-api03-" + drawn(93) + "AA", ""),
    "Hugging Face": ("", "hf" + "_" + drawn(34, string.ascii_letters), ""),
    "npm": ("", "np" + "m_" + drawn(36), ""),
    "PyPI": ("", "py" + "pi-AgEIcHlwaS5vcmc" + drawn(140), ""),
    "SendGrid": ("", "S" + "G." + drawn(22) + "." + drawn(43), ""),
    "Twilio": ("", "A" + "C" + drawn(32, _HEX), ""),
    "Telegram": ("", drawn(10, "123456789") + ":A" + "A" + drawn(33), ""),
    "DigitalOcean": ("", "do" + "p_v1_" + drawn(64, _HEX), ""),
    "Notion": ("", "nt" + "n_" + drawn(9, "123456789") + drawn(40), ""),
    "private key": ("", _private_key("RSA "), ""),
    "OpenSSH's private key": ("", _private_key("OPENSSH "), ""),
    "password in an address": ("https://anna:", drawn(12), "@db.example.net/x"),
    "password=": ("password=", "Hunter!" + "22x", ""),
    "Password:": ("Password: ", "Tr0ub4dor" + "&3", ""),
    "Passwort, in bold": ("**Passwort:** ", "Blau" + "41?wal", ""),
    "in a variable": ("export DB_PASSWORD='", "s3cr" + "et-enough", "'"),
    "in a sentence": ("The wifi password is ", "corr3ct" + "horse", ", as always"),
    "of an unknown service": ("", "q7Wm" + "ZR2xk9PbTn4LdY8sVf3H", ""),
    "Azure": ("AccountName=x;AccountKey=", drawn(86) + "==", ""),
    "Visa": ("", "4111 1111 " + "1111 1111", ""),
    "Visa, without spaces": ("", "41111111" + "11111111", ""),
    "Mastercard": ("", "5555-5555-" + "5555-4444", ""),
    "American Express": ("", "3782 822463 " + "10005", ""),
    "Discover": ("", "6011 1111 " + "1111 1117", ""),
    "JCB": ("", "3530 1113 " + "3330 0000", ""),
    "IBAN": ("IBAN ", "DE89 3704 0044 " + "0532 0130 00", ""),
    "Пароль:": ("Пароль: ", "Brachio" + "saurus#7", ""),
    "full-width colon": ("パスワード：", "Xanthic" + "quill!4", ""),
    "Authorization": ("Authorization: Bearer ", "jumbuck" + "9vellum7", ""),
    "curl": ("curl -u me:", "wolfram" + "ite", " https://x.org"),
    "2FA": ("2FA secret: ", "JBSW Y3DP " + "EHPK 3PXP", ""),
    "seed phrase": (
        "Seed phrase: ",
        "abandon ability able about above absent " + "absorb abstract absurd abuse access accident",
        "",
    ),
}  # fmt: skip

# Texts that look like secrets but aren't, or aren't by themselves.
NO_SECRETS = [
    "Password: see 1Password",
    "The password is on the fridge.",
    "The secret: be kind, and stir slowly.",
    "key: C minor, token of appreciation: 1 cake",
    "password = os.environ['DB_PASSWORD_2']",
    "Call +49 30 1234 5678 90 or 0151-23456789.",
    "Order 4111 1111 1111 1112, ISBN 978-3-16-148410-0",  # a wrong check digit; not a card
    "IBAN DE88 3704 0044 0532 0130 00",  # wrong check digits
    "From 2024-05-01 12:30 to 2024-06-01 12:30, room 1204",
    "commit 3f5a9c1e7b2d4f6a8c0e1d3b5a7f9c2e4d6b8a01",
    "bear://x-callback-url/open-note?id=6B04B8DF-BEC1-42D3-BFFF-29F0EDD38976",
    "https://www.example.com/2024/05/a-long-title-of-an-article-about-gardens",
    "https://docs.google.com/document/d/1mVqZ3bXhK8pLw5TyR7uNcD2fGjE9sQaHkB4oIxPzWtY/edit",
    "IMG_20240501_123456.HEIC and Screenshot-2024-05-01-at-12.30.45.png",
    "applicationDidFinishLaunchingWithOptions2 and AmazonS3ReadOnlyAccess",
    "Donaudampfschifffahrtsgesellschaftskapitänsmütze",
    "supercalifragilisticexpialidocious_2024_final_v2",
]
