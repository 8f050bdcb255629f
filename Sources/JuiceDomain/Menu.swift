/// The fruits that a store holds and the juices that it makes from them: data, the same for every store, and checked once.
///
/// The menu decides every sequence: messages, records, tables and metrics list fruits in the order of ``fruits``, and the fruits of
/// one juice in the order of its recipe. So a mango kiwi juice lists mangos first.
public struct Menu: Sendable, Hashable {
    /// The fruits, at least one.
    public let fruits: [Fruit]
    /// The juices, at least one.
    public let juices: [Juice]

    /// The longest id, name or alias, in bytes of UTF-8.
    public static let maximumTextLength = 128

    /// A menu of these fruits and juices. Throws the first fault found in them, with its path.
    public init(fruits: [Fruit], juices: [JuiceSpec]) throws(MenuError) {
        guard !fruits.isEmpty else { throw MenuError("fruits", .empty) }
        guard !juices.isEmpty else { throw MenuError("juices", .empty) }

        var fruitIndices: [Name: Int] = [:]
        for (index, fruit) in fruits.enumerated() {
            let path = "fruits[\(index)]"
            try Self.check(id: fruit.id, name: fruit.name, at: path)
            guard (0...FruitStore.maximumLevel).contains(fruit.initialStock) else {
                throw MenuError("\(path).initialStock", "must be from 0 to \(FruitStore.maximumLevel)")
            }
            guard fruitIndices.updateValue(index, forKey: Name(fruit.id)) == nil else {
                throw MenuError("\(path).id", "the id \"\(fruit.id)\" is taken")
            }
        }
        // An answer may name every fruit twice, with numbers, and once in words. Kafka's default limit is 1 MB.
        let longest = fruits.reduce(0) { $0 + 2 * $1.id.utf8.count + ($1.name.all.map(\.utf8.count).max() ?? 0) + 60 }
        guard longest <= 512 * 1024 else {
            throw MenuError("fruits", "must be fewer, or have shorter ids and names: an answer could be longer than 512 KiB")
        }

        var juiceIDs: Set<Name> = []
        var checkedJuices: [Juice] = []
        for (index, juice) in juices.enumerated() {
            let path = "juices[\(index)]"
            try Self.check(id: juice.id, name: juice.name, aliases: juice.aliases, at: path)
            guard juiceIDs.insert(Name(juice.id)).inserted else {
                throw MenuError("\(path).id", "the id \"\(juice.id)\" is taken")
            }
            let recipe = try Self.checked(juice.recipe, fruits: fruitIndices, at: "\(path).recipe")
            checkedJuices.append(Juice(id: juice.id, name: juice.name, aliases: juice.aliases, recipe: recipe))
        }
        try Self.checkAliases(of: checkedJuices)
        self.init(checkedFruits: fruits, juices: checkedJuices)
    }

    // For a menu that is known to be valid: the built-in one, which the tests check by the rules above.
    private init(checkedFruits: [Fruit], juices: [Juice]) { (fruits, self.juices) = (checkedFruits, juices) }

    private static func check(id: String, name: LocalizedName, aliases: [String] = [], at path: String) throws(MenuError) {
        var texts = [("id", id), ("name.en", name.english), ("name.ko", name.korean)]
        texts += aliases.enumerated().map { ("aliases[\($0)]", $1) }
        for (field, text) in texts {
            guard !text.isEmpty else { throw MenuError("\(path).\(field)", .empty) }
            guard text.utf8.count <= maximumTextLength else {
                throw MenuError("\(path).\(field)", "must not be longer than \(maximumTextLength) bytes")
            }
        }
    }

    // Ids and names may be equal once folded: for a name that means two juices, people are asked for the id.
    private static func checkAliases(of juices: [Juice]) throws(MenuError) {
        var meanings: [String: Set<Int>] = [:]
        for (index, juice) in juices.enumerated() {
            for text in [juice.id] + juice.name.all + juice.aliases { meanings[text.folded, default: []].insert(index) }
        }
        for (index, juice) in juices.enumerated() {
            for (position, alias) in juice.aliases.enumerated() {
                let path = "juices[\(index)].aliases[\(position)]"
                let name = alias.folded
                guard !name.isEmpty else { throw MenuError(path, .empty) }
                if let other = meanings[name]?.subtracting([index]).min() {
                    throw MenuError(path, "already means the juice \"\(juices[other].id)\"")
                }
            }
        }
    }

    private static func checked(
        _ recipe: [(fruit: String, amount: Int)], fruits: [Name: Int], at path: String
    ) throws(MenuError) -> [Ingredient] {
        guard !recipe.isEmpty else { throw MenuError(path, .empty) }
        var checked: [Ingredient] = []
        for (id, amount) in recipe {
            let path = "\(path).\(id)"
            guard let fruit = fruits[Name(id)] else { throw MenuError(path, "no fruit has this id") }
            guard amount > 0 else { throw MenuError(path, "the amount must be at least 1") }
            guard amount <= FruitStore.maximumLevel else {
                throw MenuError(path, "the amount must be at most \(FruitStore.maximumLevel)")
            }
            guard !checked.contains(where: { $0.fruit == fruit }) else {
                throw MenuError(path, "this fruit is already in the recipe")
            }
            checked.append(Ingredient(fruit: fruit, amount: amount))
        }
        return checked
    }
}

/// A fruit on the menu. Everywhere else a fruit is its index in ``Menu/fruits``.
public struct Fruit: Sendable, Hashable {
    /// Its name in records: 1 to 128 bytes, compared byte by byte.
    public let id: String
    /// Its name for people.
    public let name: LocalizedName
    /// A store's level of this fruit before its first order or restock.
    public let initialStock: Int

    /// The stock that a store starts with unless a menu says otherwise.
    public static let defaultInitialStock = 10

    /// A fruit, to be checked by ``Menu/init(fruits:juices:)``.
    public init(id: String, name: LocalizedName, initialStock: Int = Fruit.defaultInitialStock) {
        (self.id, self.name, self.initialStock) = (id, name, initialStock)
    }
}

/// A juice on the menu. Everywhere else a juice is its index in ``Menu/juices``.
public struct Juice: Sendable, Hashable {
    /// Its name in records: 1 to 128 bytes, compared byte by byte.
    public let id: String
    /// Its name for people.
    public let name: LocalizedName
    /// Other names that people use. None of these means another juice, and no record contains them.
    public let aliases: [String]
    /// What one juice takes: at least one ingredient, each fruit once, in the order in which answers name them.
    public let recipe: [Ingredient]
}

/// An amount of one fruit.
public struct Ingredient: Sendable, Hashable {
    /// The fruit's index in ``Menu/fruits``.
    public let fruit: Int
    /// How many of the fruit one juice takes, from 1 to ``FruitStore/maximumLevel``.
    public let amount: Int
}

/// A juice as a person writes it, with fruits by their ids, and not checked yet.
public struct JuiceSpec: Sendable {
    let id: String
    let name: LocalizedName
    let aliases: [String]
    let recipe: [(fruit: String, amount: Int)]

    /// A juice, to be checked by ``Menu/init(fruits:juices:)``. The recipe is what one juice takes, in the order in which answers
    /// name the fruits. It is a list and not a dictionary, so that a fruit that is written twice is detected.
    public init(id: String, name: LocalizedName, aliases: [String] = [], recipe: [(fruit: String, amount: Int)]) {
        (self.id, self.name, self.aliases, self.recipe) = (id, name, aliases, recipe)
    }
}

/// The name of a fruit or a juice for people, in the languages of the service.
public struct LocalizedName: Sendable, Hashable {
    /// The English name, such as `strawberry banana juice`.
    public let english: String
    /// The Korean name, such as `딸바쥬스`.
    public let korean: String

    /// A name in both languages.
    public init(english: String, korean: String) { (self.english, self.korean) = (english, korean) }

    /// The name in each language.
    package var all: [String] { [english, korean] }
}

/// The first fault in a menu: where it is and what it is.
public struct MenuError: Error, Hashable, CustomStringConvertible {
    /// The path to the faulty part, such as `juices[3].recipe.mango`.
    public let path: String
    /// What is wrong there, in English, such as `no fruit has this id`.
    public let problem: String

    init(_ path: String, _ problem: String) { (self.path, self.problem) = (path, problem) }

    /// The path and the problem.
    public var description: String { "\(path): \(problem)" }
}

extension String {
    fileprivate static let empty = "must not be empty"
}

extension Menu {
    /// The built-in menu: five fruits and seven juices.
    ///
    /// A store starts with 10 of each fruit, so a strawberry juice, which takes 16, is out of stock at first. That is intended.
    public static let standard = Menu(
        checkedFruits: [
            Fruit(id: "strawberry", name: LocalizedName(english: "strawberry", korean: "딸기")),
            Fruit(id: "banana", name: LocalizedName(english: "banana", korean: "바나나")),
            Fruit(id: "pineapple", name: LocalizedName(english: "pineapple", korean: "파인애플")),
            Fruit(id: "kiwi", name: LocalizedName(english: "kiwi", korean: "키위")),
            Fruit(id: "mango", name: LocalizedName(english: "mango", korean: "망고")),
        ],
        juices: [
            juice("strawberry", "strawberry juice", "딸기쥬스", [(.strawberry, 16)]),
            juice("banana", "banana juice", "바나나쥬스", [(.banana, 2)]), juice("kiwi", "kiwi juice", "키위쥬스", [(.kiwi, 3)]),
            juice("pineapple", "pineapple juice", "파인애플쥬스", [(.pineapple, 2)]),
            juice("strawberryBanana", "strawberry banana juice", "딸바쥬스", [(.strawberry, 10), (.banana, 1)]),
            juice("mango", "mango juice", "망고쥬스", [(.mango, 3)]),
            juice("mangoKiwi", "mango kiwi juice", "망고키위쥬스", aliases: ["망키쥬스"], [(.mango, 2), (.kiwi, 1)]),
        ]
    )

    // The fruits above, in their order.
    private enum StandardFruit: Int { case strawberry, banana, pineapple, kiwi, mango }

    private static func juice(
        _ id: String, _ english: String, _ korean: String, aliases: [String] = [], _ recipe: [(fruit: StandardFruit, amount: Int)]
    ) -> Juice {
        Juice(
            id: id, name: LocalizedName(english: english, korean: korean), aliases: aliases,
            recipe: recipe.map { Ingredient(fruit: $0.fruit.rawValue, amount: $0.amount) })
    }
}

// MARK: - Lookups for people and clients

// Not for use with every record: all of them are linear.
extension Menu {
    /// The index of the fruit with this id.
    public func fruitIndex(id: String) -> Int? { fruits.firstIndex { Name($0.id) == Name(id) } }

    /// The index of the juice with this id.
    public func juiceIndex(id: String) -> Int? { juices.firstIndex { Name($0.id) == Name(id) } }

    /// The fruits that a text may mean: those with this id or name, in any case, with or without spaces. 주스 and 쥬스 are the same
    /// word.
    ///
    /// An id takes precedence over names. So there is more than one fruit only if several share a name, or if their ids differ only
    /// in case, spaces and Unicode composition.
    public func fruits(called text: String) -> [Fruit] {
        if let index = fruitIndex(id: text) { return [fruits[index]] }
        return Self.items(of: fruits, called: text, [{ [$0.id] }, { $0.name.all }])
    }

    /// The juices that a text may mean: as ``fruits(called:)``, and names take precedence over aliases.
    public func juices(called text: String) -> [Juice] {
        if let index = juiceIndex(id: text) { return [juices[index]] }
        return Self.items(of: juices, called: text, [{ [$0.id] }, { $0.name.all }, { $0.aliases }])
    }

    /// The items that match in the first list of names in which any item matches.
    private static func items<Item>(of items: [Item], called text: String, _ names: [(Item) -> [String]]) -> [Item] {
        let wanted = text.folded
        for names in names {
            let found = items.filter { names($0).contains { $0.folded == wanted } }
            if !found.isEmpty { return found }
        }
        return []
    }
}

extension String {
    /// An id, name or alias without the differences that people ignore: case, spaces, and whether juice is 쥬스 or 주스.
    ///
    /// `String` compares by Unicode's canonical equivalence, so a Hangul syllable equals its letters, which is how some keyboards
    /// and file systems write it. Records compare ids byte by byte instead: ``Name``.
    fileprivate var folded: String { lowercased().filter { !$0.isWhitespace }.replacing("주스", with: "쥬스") }
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
    public static func == (first: Name, second: Name) -> Bool { first.text.utf8.elementsEqual(second.text.utf8) }

    /// Hashes the bytes.
    public func hash(into hasher: inout Hasher) { text.utf8.forEach { hasher.combine($0) } }
}
