import JuiceMaker

/// A language the service writes its messages for people in.
public enum Language: String, Sendable, CaseIterable {
    /// English, the default.
    case english = "en"
    /// Korean.
    case korean = "ko"
}

extension LocalizedName {
    /// The name in a language.
    public func text(in language: Language) -> String {
        switch language {
        case .english: english
        case .korean: korean
        }
    }
}
