import JuiceMaker

/// A language of the service's messages for people.
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
