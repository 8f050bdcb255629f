/// A store's id or a command's, equal to another when their bytes are: to `String`, texts are equal that only look the same.
struct Name: Hashable, Sendable {
    let text: String

    init(_ text: String) {
        self.text = text
    }

    static func == (first: Name, second: Name) -> Bool {
        first.text.utf8.elementsEqual(second.text.utf8)
    }

    func hash(into hasher: inout Hasher) {
        for byte in text.utf8 { hasher.combine(byte) }
    }
}
