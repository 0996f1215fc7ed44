"""A sentence of each kind of text that people keep in notes."""

KINDS_OF_TEXT = {
    "English": "The quick brown fox jumps over the lazy dog, and nobody minds it much. ",
    "science": "Hydroxychloroquine inhibited dichlorodiphenyltrichloroethane-induced apoptosis "
    "(p < 0.001). ",
    "German": "Die Donaudampfschifffahrtsgesellschaft veröffentlichte ihren Geschäftsbericht. ",
    "Polish": "W Szczebrzeszynie chrząszcz brzmi w trzcinie i Szczebrzeszyn z tego słynie. ",
    "Finnish": "Järjestelmällisyydellänsäkään hän ei pystynyt ratkaisemaan ongelmaa. ",
    "Vietnamese": "Hôm nay trời đẹp quá, chúng ta đi dạo rồi học ngôn ngữ lập trình. ",
    "Russian": "Съешь же ещё этих мягких французских булок, да выпей чаю. ",
    "Greek": "Γειά σου Κόσμε, ο καιρός είναι όμορφος σήμερα. ",
    "Arabic": "مرحبا بالعالم، الطقس جميل اليوم وأنا أتعلم لغة البرمجة. ",
    "Hindi": "नमस्ते दुनिया, आज मौसम बहुत अच्छा है और मैं सीख रहा हूँ। ",
    "Chinese": "今天天气很好，我们去公园散步吧。学习编程语言需要很多时间和耐心。",
    "Japanese": "今日はとても良い天気ですね。プログラミング言語の勉強をしています。",
    "Korean": "안녕하세요 여러분 오늘은 날씨가 정말 좋습니다. 프로그래밍 언어를 공부합니다. ",
    "Thai": "สวัสดีชาวโลก วันนี้อากาศดีมาก ฉันกำลังเรียนภาษาโปรแกรม ",
    "emoji": "👨‍👩‍👧 🟢 ❤️ 🏳️‍🌈 ",
    "numbers": "2024-05-17 13:37:59.123456 3.14159265358979 +49 30 901820 1,234,567.89 ",
    "addresses": "https://www.example.org/2024/05/xkcd-qwzrtp.html?plain=1&page=27#L123-L456 ",
    "hashes": "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db ",
    "marks": "!\"#$%&'()+,-./:;<=>?@[\\]^_`{|}~",
    "mathematics": "∑∫√∞ ≈≠≤≥ ∂f/∂x = lim(h→0) (f(x+h) − f(x))/h ∀ε>0 ∃δ ",
    "Python": "\n```python\ndef passages(self, *, max_tokens: int = 256) -> list[str]:\n"
    "    return [x.text for x in self._cut(max_tokens) if x]\n```\n",
    "shell": "\n```\n$ curl -sSL 'https://x.io/i.sh' | sudo -E bash -s -- --prefix=/usr -y\n```\n",
    "JSON": '\n```json\n{"id": 17, "tags": ["a/b"], "at": "2024-05-17T13:37:59Z"}\n```\n',
    "one word": "supercalifragilisticexpialidocious",
}
