/// What people call a fruit or a juice, in the languages the service speaks.
public struct LocalizedName: Sendable, Hashable {
    /// The English name, such as `strawberry banana juice`.
    public let english: String
    /// The Korean name, such as `딸바쥬스`.
    public let korean: String

    /// A name in both languages.
    public init(english: String, korean: String) {
        self.english = english
        self.korean = korean
    }

    /// The name in each language.
    package var all: [String] { [english, korean] }
}
