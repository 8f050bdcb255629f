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
