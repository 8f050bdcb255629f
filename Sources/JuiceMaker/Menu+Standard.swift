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
