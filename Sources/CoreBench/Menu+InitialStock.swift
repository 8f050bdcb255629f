import JuiceMaker

extension Menu {
    /// The standard menu with another initial stock of each fruit.
    ///
    /// - Throws: ``MenuError`` if an initial stock is more than a store can hold.
    public static func standard(initialStock: (Fruit) -> Int) throws(MenuError) -> Menu {
        let fruits = standard.fruits.map { Fruit(id: $0.id, name: $0.name, initialStock: initialStock($0)) }
        let juices = standard.juices.map { juice in
            let recipe = juice.recipe.map { (standard.fruits[$0.fruit].id, $0.amount) }
            return JuiceSpec(id: juice.id, name: juice.name, aliases: juice.aliases, recipe: JuiceSpec.Recipe(recipe))
        }
        return try Menu(fruits: fruits, juices: juices)
    }
}
