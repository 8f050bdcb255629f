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
