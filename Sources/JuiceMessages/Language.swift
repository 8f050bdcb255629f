/// A language of the service's messages.
public enum Language: String, Sendable, CaseIterable {
    /// English, the default.
    case english = "en"
    /// Korean.
    case korean = "ko"

    package func text<Text>(_ english: @autoclosure () -> Text, _ korean: @autoclosure () -> Text) -> Text {
        self == .english ? english() : korean()
    }

    /// The language of a message of the service. Ids, which may be in any language, are quoted.
    init(of message: String) {
        let isOwn = message.split(separator: "\"", omittingEmptySubsequences: false).enumerated().filter { $0.offset % 2 == 0 }
        let isKorean = isOwn.contains { $0.element.unicodeScalars.contains { ("\u{AC00}"..."\u{D7A3}").contains($0) } }
        self = isKorean ? .korean : .english
    }
}
