/// The fruits a store holds and the juices it makes of them: data, the same for every store, and checked
/// once.
///
/// The menu decides every order: fruits stand in messages, records, tables and metrics as ``fruits`` lists
/// them, and the fruits of one juice as its recipe lists them, so that a mango kiwi juice speaks of mangos
/// first.
public struct Menu: Sendable, Hashable {
    /// The fruits, at least one.
    public let fruits: [Fruit]
    /// The juices, at least one.
    public let juices: [Juice]

    /// The longest id, name or alias, in bytes of UTF-8.
    public static let maximumTextLength = 128

    /// A menu of these fruits and juices, or the first fault found in them, with its place.
    public init(fruits: [Fruit], juices: [JuiceSpec]) throws(MenuError) {
        guard !fruits.isEmpty else { throw MenuError("fruits", .empty) }
        guard !juices.isEmpty else { throw MenuError("juices", .empty) }

        var fruitIndices: [Name: Int] = [:]
        for (index, fruit) in fruits.enumerated() {
            let place = "fruits[\(index)]"
            try Self.check(id: fruit.id, name: fruit.name, at: place)
            guard (0...FruitStore.maximumLevel).contains(fruit.initialStock) else {
                throw MenuError("\(place).initialStock", .initialStockOutOfRange)
            }
            guard fruitIndices.updateValue(index, forKey: Name(fruit.id)) == nil else {
                throw MenuError("\(place).id", .duplicateID(fruit.id))
            }
        }

        var juiceIDs: Set<Name> = []
        var checkedJuices: [Juice] = []
        for (index, juice) in juices.enumerated() {
            let place = "juices[\(index)]"
            try Self.check(id: juice.id, name: juice.name, aliases: juice.aliases, at: place)
            guard juiceIDs.insert(Name(juice.id)).inserted else { throw MenuError("\(place).id", .duplicateID(juice.id)) }
            let recipe = try Self.checked(juice.recipe, fruits: fruitIndices, at: "\(place).recipe")
            checkedJuices.append(Juice(id: juice.id, name: juice.name, aliases: juice.aliases, recipe: recipe))
        }
        try Self.checkAliases(of: checkedJuices)
        self.init(checkedFruits: fruits, juices: checkedJuices)
    }

    // For a menu that is known to be right: the built-in one, which the tests check by the rules above.
    init(checkedFruits: [Fruit], juices: [Juice]) {
        self.fruits = checkedFruits
        self.juices = juices
    }
}

extension Menu {
    private static func check(id: String, name: LocalizedName, aliases: [String] = [], at place: String) throws(MenuError) {
        var texts = [("id", id), ("name.en", name.english), ("name.ko", name.korean)]
        texts += aliases.enumerated().map { ("aliases[\($0)]", $1) }
        for (field, text) in texts {
            guard !text.isEmpty else { throw MenuError("\(place).\(field)", .empty) }
            guard text.utf8.count <= maximumTextLength else { throw MenuError("\(place).\(field)", .textTooLong) }
        }
    }

    // Ids and names may be the same for people: whoever uses one that means two juices is asked for the id.
    private static func checkAliases(of juices: [Juice]) throws(MenuError) {
        var meanings: [FoldedName: Set<Int>] = [:]
        for (index, juice) in juices.enumerated() {
            for text in [juice.id] + juice.name.all + juice.aliases { meanings[FoldedName(text), default: []].insert(index) }
        }
        for (index, juice) in juices.enumerated() {
            for (position, alias) in juice.aliases.enumerated() {
                let place = "juices[\(index)].aliases[\(position)]"
                let name = FoldedName(alias)
                guard !name.isEmpty else { throw MenuError(place, .empty) }
                if let other = meanings[name]?.subtracting([index]).min() {
                    throw MenuError(place, .ambiguousAlias(juices[other].id))
                }
            }
        }
    }

    private static func checked(
        _ recipe: JuiceSpec.Recipe,
        fruits: [Name: Int],
        at place: String
    ) throws(MenuError) -> [Ingredient] {
        guard !recipe.ingredients.isEmpty else { throw MenuError(place, .empty) }
        var checked: [Ingredient] = []
        for (id, amount) in recipe.ingredients {
            let place = "\(place).\(id)"
            guard let fruit = fruits[Name(id)] else { throw MenuError(place, .unknownFruit) }
            guard amount > 0 else { throw MenuError(place, .amountNotPositive) }
            guard amount <= FruitStore.maximumLevel else { throw MenuError(place, .amountTooLarge) }
            guard !checked.contains(where: { $0.fruit == fruit }) else { throw MenuError(place, .duplicateFruit) }
            checked.append(Ingredient(fruit: fruit, amount: amount))
        }
        return checked
    }
}

/// A fruit on the menu. Everywhere else a fruit is its index in ``Menu/fruits``.
public struct Fruit: Sendable, Hashable {
    /// What records call it: 1 to 128 bytes, compared byte by byte.
    public let id: String
    /// What people call it.
    public let name: LocalizedName
    /// How many of it a store has before its first order or restock.
    public let initialStock: Int

    /// The stock a store starts with when a menu does not say otherwise.
    public static let defaultInitialStock = 10

    /// A fruit, to be checked by ``Menu/init(fruits:juices:)``.
    public init(id: String, name: LocalizedName, initialStock: Int = Fruit.defaultInitialStock) {
        self.id = id
        self.name = name
        self.initialStock = initialStock
    }
}

/// A juice on the menu. Everywhere else a juice is its index in ``Menu/juices``.
public struct Juice: Sendable, Hashable {
    /// What records call it: 1 to 128 bytes, compared byte by byte.
    public let id: String
    /// What people call it.
    public let name: LocalizedName
    /// What else people call it. None of these means another juice, and no record contains them.
    public let aliases: [String]
    /// What one juice takes: at least one ingredient, each fruit once, as the menu lists them.
    public let recipe: [Ingredient]

    // Only a menu makes juices: a recipe means something only next to the fruits it counts.
    init(id: String, name: LocalizedName, aliases: [String] = [], recipe: [Ingredient]) {
        self.id = id
        self.name = name
        self.aliases = aliases
        self.recipe = recipe
    }
}

/// So many of one fruit.
public struct Ingredient: Sendable, Hashable {
    /// The fruit's index in ``Menu/fruits``.
    public let fruit: Int
    /// How many of it one juice takes, from 1 to ``FruitStore/maximumLevel``.
    public let amount: Int

    init(fruit: Int, amount: Int) {
        self.fruit = fruit
        self.amount = amount
    }
}

/// A juice as a person writes it down, with fruits by their ids and nothing checked yet.
public struct JuiceSpec: Sendable {
    /// The juice's id.
    public var id: String
    /// The juice's name.
    public var name: LocalizedName
    /// What else people call it.
    public var aliases: [String]
    /// What one juice takes.
    public var recipe: Recipe

    /// A juice, to be checked by ``Menu/init(fruits:juices:)``.
    public init(id: String, name: LocalizedName, aliases: [String] = [], recipe: Recipe) {
        self.id = id
        self.name = name
        self.aliases = aliases
        self.recipe = recipe
    }

    /// Amounts by fruit id, in the order they are to be named in: `["strawberry": 10, "banana": 1]`.
    ///
    /// A list and not a dictionary, so that a fruit written down twice is found out instead of silently lost.
    public struct Recipe: Sendable, ExpressibleByDictionaryLiteral {
        /// The ingredients as they were written.
        public var ingredients: [(fruit: String, amount: Int)]

        /// A recipe of these ingredients.
        public init(_ ingredients: [(fruit: String, amount: Int)]) {
            self.ingredients = ingredients
        }

        /// A recipe written as a literal.
        public init(dictionaryLiteral ingredients: (String, Int)...) {
            self.ingredients = ingredients.map { (fruit: $0.0, amount: $0.1) }
        }
    }
}

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

extension Menu {
    /// The built-in menu: five fruits and seven juices.
    ///
    /// A store starts with 10 of each fruit, so a strawberry juice, which takes 16, is out of stock at first.
    /// That is intended.
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
            juice(
                "mangoKiwi",
                "mango kiwi juice",
                "망고키위쥬스",
                aliases: ["망키쥬스"],
                [(.mango, 2), (.kiwi, 1)]
            ),
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

/// The first fault in a menu: where it is and what it is.
public struct MenuError: Error, Hashable {
    /// The path to the faulty part, such as `juices[3].recipe.mango`.
    public let place: String
    /// What is wrong there.
    public let problem: Problem

    init(_ place: String, _ problem: Problem) {
        self.place = place
        self.problem = problem
    }

    /// What can be wrong with a menu.
    public enum Problem: Hashable, Sendable {
        /// A list, recipe, id, name or alias that must hold something holds nothing, or an alias nothing but spaces.
        case empty
        /// An id, name or alias is longer than ``Menu/maximumTextLength`` bytes.
        case textTooLong
        /// An earlier fruit, or an earlier juice, has the same id.
        case duplicateID(String)
        /// An alias is also the id, a name or an alias of another juice, which has this id.
        case ambiguousAlias(String)
        /// A recipe asks for a fruit that is not on the menu.
        case unknownFruit
        /// A recipe names a fruit twice.
        case duplicateFruit
        /// A recipe asks for none of a fruit, or for less than none.
        case amountNotPositive
        /// A recipe asks for more of a fruit than a store can hold.
        case amountTooLarge
        /// A store would start below zero or above what it can hold.
        case initialStockOutOfRange
    }
}

extension MenuError: CustomStringConvertible {
    /// The place and the problem in English, such as `juices[3].recipe.mango: no fruit has this id`.
    public var description: String { "\(place): \(problem)" }
}

extension MenuError.Problem: CustomStringConvertible {
    /// The problem in English.
    public var description: String {
        switch self {
        case .empty: "must not be empty"
        case .textTooLong: "must not be longer than \(Menu.maximumTextLength) bytes"
        case .duplicateID(let id): "the id \"\(id)\" is taken"
        case .ambiguousAlias(let id): "already means the juice \"\(id)\""
        case .unknownFruit: "no fruit has this id"
        case .duplicateFruit: "this fruit is already in the recipe"
        case .amountNotPositive: "the amount must be at least 1"
        case .amountTooLarge: "the amount must be at most \(FruitStore.maximumLevel)"
        case .initialStockOutOfRange: "must be from 0 to \(FruitStore.maximumLevel)"
        }
    }
}
