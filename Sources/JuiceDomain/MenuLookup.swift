// Lookups for people and clients, not for every record: all of them are linear.
extension Menu {
    /// The index of the fruit with this id.
    public func fruitIndex(id: String) -> Int? { fruits.firstIndex { Name($0.id) == Name(id) } }

    /// The index of the juice with this id.
    public func juiceIndex(id: String) -> Int? { juices.firstIndex { Name($0.id) == Name(id) } }

    /// The fruits that people may mean by a text: their ids or names, in any case, with or without spaces.
    ///
    /// An id has precedence over names. So there is more than one fruit only if several share a name, or if their ids
    /// differ in nothing but case, spaces and Unicode composition.
    ///
    /// - Parameter text: what a person wrote.
    /// - Returns: the fruits in the menu's order; none if nothing is called so.
    public func fruits(called text: String) -> [Fruit] {
        if let index = fruitIndex(id: text) { return [fruits[index]] }
        return Self.items(of: fruits, called: text, [{ [$0.id] }, { $0.name.all }])
    }

    /// The juices that people may mean by a text: their ids, names or aliases, in any case, with or without spaces.
    ///
    /// An id has precedence over names, and a name over aliases. So there is more than one juice only if several share
    /// a name, or if their ids differ in nothing but case, spaces and Unicode composition.
    ///
    /// - Parameter text: what a person wrote.
    /// - Returns: the juices in the menu's order; none if nothing is called so.
    public func juices(called text: String) -> [Juice] {
        if let index = juiceIndex(id: text) { return [juices[index]] }
        return Self.items(of: juices, called: text, [{ [$0.id] }, { $0.name.all }, { $0.aliases }])
    }

    /// The items that have a name in the first of the lists in which any item has it.
    private static func items<Item>(of items: [Item], called text: String, _ names: [(Item) -> [String]]) -> [Item] {
        let wanted = FoldedName(text)
        for names in names {
            let found = items.filter { names($0).contains { FoldedName($0) == wanted } }
            if !found.isEmpty { return found }
        }
        return []
    }
}

/// An id, name or alias without what people do not care for: case and spaces.
///
/// `String` compares by Unicode's canonical equivalence, so a Hangul syllable equals its letters, which is how some
/// keyboards and file systems write it. Records compare ids byte by byte instead: ``Name``.
struct FoldedName: Hashable {
    private let text: String

    init(_ text: String) { self.text = text.lowercased().filter { !$0.isWhitespace } }

    var isEmpty: Bool { text.isEmpty }
}

/// An id of a store, a command, a fruit or a juice, compared and hashed by its UTF-8 bytes, as Kafka does.
///
/// `String` compares by Unicode's canonical equivalence: "é" in one code point and in two would be one id.
public struct Name: Hashable, Sendable {
    /// The id.
    public let text: String

    /// The name with this text.
    public init(_ text: String) { self.text = text }

    /// Whether the bytes are the same.
    public static func == (first: Name, second: Name) -> Bool {
        first.text.utf8.elementsEqual(second.text.utf8)
    }

    /// Hashes the bytes.
    public func hash(into hasher: inout Hasher) {
        for byte in text.utf8 { hasher.combine(byte) }
    }
}
