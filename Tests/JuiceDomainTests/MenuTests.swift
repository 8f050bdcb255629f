import Testing

@testable import JuiceDomain

@Suite struct MenuTests {
    @Test func standardMenuIsTheClassicOne() {
        let menu = Menu.standard
        #expect(menu.fruits.map(\.id) == ["strawberry", "banana", "pineapple", "kiwi", "mango"])
        #expect(menu.fruits.map(\.name.korean) == ["딸기", "바나나", "파인애플", "키위", "망고"])
        #expect(menu.fruits.map(\.initialStock) == [10, 10, 10, 10, 10])

        let juices = menu.juices.map { juice in
            let recipe = juice.recipe.map { "\($0.amount) \(menu.fruits[$0.fruit].id)" }.joined(separator: " + ")
            let names = [juice.name.english, juice.name.korean] + juice.aliases
            return "\(juice.id) | \(names.joined(separator: ", ")) | \(recipe)"
        }
        #expect(
            juices == [
                "strawberry | strawberry juice, 딸기쥬스 | 16 strawberry",
                "banana | banana juice, 바나나쥬스 | 2 banana",
                "kiwi | kiwi juice, 키위쥬스 | 3 kiwi",
                "pineapple | pineapple juice, 파인애플쥬스 | 2 pineapple",
                "strawberryBanana | strawberry banana juice, 딸바쥬스 | 10 strawberry + 1 banana",
                "mango | mango juice, 망고쥬스 | 3 mango",
                "mangoKiwi | mango kiwi juice, 망고키위쥬스, 망키쥬스 | 2 mango + 1 kiwi",
            ]
        )
    }

    // It is built without the checks.
    @Test func standardMenuPassesTheChecks() throws {
        let menu = Menu.standard
        let specs = menu.juices.map { juice in
            JuiceSpec(
                id: juice.id, name: juice.name, aliases: juice.aliases,
                recipe: JuiceSpec.Recipe(juice.recipe.map { (menu.fruits[$0.fruit].id, $0.amount) }))
        }
        #expect(try Menu(fruits: menu.fruits, juices: specs) == menu)
    }

    @Test func idsAreFoundByTheirBytes() throws {
        let composed = "caf\u{E9}"
        let decomposed = "cafe\u{301}"
        let menu = try Menu(fruits: [fruit(composed), fruit(decomposed)], juices: [juice("j", [(decomposed, 3)])])
        #expect(menu.fruitIndex(id: composed) == 0)
        #expect(menu.fruitIndex(id: decomposed) == 1)
        #expect(menu.juices[0].recipe == [Ingredient(fruit: 1, amount: 3)])
        #expect(menu.juiceIndex(id: "j") == 0)
        #expect(menu.juiceIndex(id: "J") == nil)
        #expect(menu.fruits(called: decomposed).map(\.id) == [decomposed])
        #expect(menu.fruits(called: "CAF\u{C9}").map(\.id) == [composed, decomposed])
    }

    @Test func limitsThemselvesAreAllowed() throws {
        let longest = String(repeating: "가", count: 42) + "ab"
        let menu = try Menu(
            fruits: [fruit(longest, initialStock: 1_000_000_000), fruit("b", initialStock: 0)],
            juices: [juice(longest, [(longest, 1_000_000_000), ("b", 1)], aliases: [longest])])
        #expect(menu.juices[0].aliases == [longest])
        #expect(menu.juices[0].recipe.map(\.amount) == [1_000_000_000, 1])
    }

    @Test(arguments: MenuFault.all)
    func faultIsFoundAndItsPlaceNamed(_ fault: MenuFault) {
        let error = #expect(throws: MenuError.self) {
            try Menu(fruits: fault.fruits, juices: fault.juices)
        }
        #expect(error?.description == fault.description)
    }
}

struct MenuFault: Sendable, CustomTestStringConvertible {
    let description: String
    var fruits = [fruit("kiwi"), fruit("mango")]
    var juices = [juice("kiwi", [("kiwi", 3)]), juice("mango", [("mango", 3)])]

    var testDescription: String { description }

    static let tooLong = String(repeating: "x", count: 129)

    static let all = [
        MenuFault(description: "fruits: must not be empty", fruits: []),
        MenuFault(description: "juices: must not be empty", juices: []),
        MenuFault(description: "fruits[1].id: must not be empty", fruits: [fruit("a"), fruit("")]),
        MenuFault(description: "fruits[0].id: must not be longer than 128 bytes", fruits: [fruit(tooLong), fruit("kiwi")]),
        MenuFault(
            description: "fruits[0].name.en: must not be empty",
            fruits: [Fruit(id: "kiwi", name: LocalizedName(english: "", korean: "키위"))]),
        MenuFault(
            description: "fruits[0].name.ko: must not be longer than 128 bytes",
            fruits: [Fruit(id: "kiwi", name: LocalizedName(english: "kiwi", korean: tooLong))]
        ),
        MenuFault(
            description: "fruits[2].id: the id \"kiwi\" is taken",
            fruits: [fruit("kiwi"), fruit("mango"), fruit("kiwi")]
        ),
        MenuFault(
            description: "fruits[0].initialStock: must be from 0 to 1000000000",
            fruits: [fruit("kiwi", initialStock: -1)]
        ),
        MenuFault(
            description: "fruits[0].initialStock: must be from 0 to 1000000000",
            fruits: [fruit("kiwi", initialStock: 1_000_000_001)]
        ),
        MenuFault(
            description: "juices[1].id: the id \"kiwi\" is taken",
            juices: [juice("kiwi", [("kiwi", 3)]), juice("kiwi", [("mango", 3)])]),
        MenuFault(description: "juices[0].id: must not be empty", juices: [juice("", [("kiwi", 3)])]),
        MenuFault(description: "juices[0].id: must not be longer than 128 bytes", juices: [juice(tooLong, [("kiwi", 3)])]),
        MenuFault(description: "juices[0].recipe: must not be empty", juices: [juice("kiwi", [])]),
        MenuFault(
            description: "juices[1].recipe.durian: no fruit has this id",
            juices: [juice("kiwi", [("kiwi", 3)]), juice("durian", [("kiwi", 1), ("durian", 1)])]
        ),
        MenuFault(
            description: "juices[0].recipe.kiwi: the amount must be at least 1",
            juices: [juice("kiwi", [("kiwi", 0)])]
        ),
        MenuFault(
            description: "juices[0].recipe.kiwi: the amount must be at least 1",
            juices: [juice("kiwi", [("kiwi", .min)])]
        ),
        MenuFault(
            description: "juices[0].recipe.kiwi: the amount must be at most 1000000000",
            juices: [juice("kiwi", [("kiwi", 1_000_000_001)])]),
        MenuFault(
            description: "juices[0].recipe.kiwi: this fruit is already in the recipe",
            juices: [juice("kiwi", [("kiwi", 1), ("mango", 1), ("kiwi", 1)])]),
        aliases([], ["m", ""], "juices[1].aliases[1]: must not be empty"),
        aliases([], [" \t"], "juices[1].aliases[0]: must not be empty"),
        aliases([tooLong], [], "juices[0].aliases[0]: must not be longer than 128 bytes"),
        aliases([], ["m", "Ki wi"], "juices[1].aliases[1]: already means the juice \"kiwi\""),
        aliases(["mango"], [], "juices[0].aliases[0]: already means the juice \"mango\""),
        // All juices here have these names.
        aliases(["JUICE"], [], "juices[0].aliases[0]: already means the juice \"mango\""),
        aliases([], ["쥬 스"], "juices[1].aliases[0]: already means the juice \"kiwi\""),
        aliases(["gold"], ["Gold"], "juices[0].aliases[0]: already means the juice \"mango\""),
        aliases(
            [],
            ["\u{110F}\u{1175}\u{110B}\u{1171}"],
            of: "키위",
            "juices[1].aliases[0]: already means the juice \"키위\""
        ),
    ]

    private static func aliases(_ first: [String], _ second: [String], of id: String = "kiwi", _ description: String) -> MenuFault {
        MenuFault(
            description: description,
            juices: [juice(id, [("kiwi", 3)], aliases: first), juice("mango", [("mango", 3)], aliases: second)])
    }
}

func fruit(_ id: String, initialStock: Int = 10) -> Fruit {
    Fruit(id: id, name: LocalizedName(english: "fruit", korean: "과일"), initialStock: initialStock)
}

func juice(_ id: String, _ recipe: [(fruit: String, amount: Int)], aliases: [String] = []) -> JuiceSpec {
    JuiceSpec(id: id, name: LocalizedName(english: "juice", korean: "쥬스"), aliases: aliases, recipe: JuiceSpec.Recipe(recipe))
}

@Suite struct MenuLookupTests {
    @Test(arguments: [
        ("mangoKiwi", ["mangoKiwi"]), ("MANGOKIWI", ["mangoKiwi"]), (" mango kiwi ", ["mangoKiwi"]),
        ("Mango Kiwi Juice", ["mangoKiwi"]), ("mangokiwijuice", ["mangoKiwi"]), ("망고키위쥬스", ["mangoKiwi"]),
        ("망고 키위\u{3000}쥬스", ["mangoKiwi"]), ("망키쥬스", ["mangoKiwi"]), ("망키 쥬스", ["mangoKiwi"]),
        // Its letters one by one, as the terminal and file system of macOS write them.
        (
            "\u{1106}\u{1161}\u{11BC}\u{110F}\u{1175} \u{110C}\u{1172}\u{1109}\u{1173}",
            ["mangoKiwi"]
        ),
        ("mango", ["mango"]), ("mango-kiwi", []), ("망키", []), ("", []), (" ", []),
    ])
    func juicesAreFoundByWhatPeopleCallThem(text: String, ids: [String]) {
        #expect(Menu.standard.juices(called: text).map(\.id) == ids)
    }

    @Test(arguments: [("딸기", ["strawberry"]), ("Kiwi", ["kiwi"]), ("파인 애플", ["pineapple"]), ("망키쥬스", [])])
    func fruitsAreFoundByWhatPeopleCallThem(text: String, ids: [String]) {
        #expect(Menu.standard.fruits(called: text).map(\.id) == ids)
    }

    // Such menus were valid before there were aliases.
    @Test(arguments: [
        // An id as it stands, then an id in another form, then a name.
        ("red", ["red"]), ("RED", ["RED"]), ("Red", ["red", "RED"]), ("r e d", ["red", "RED"]),
        ("blue", ["blue"]), ("green", ["red", "blue"]), ("초록", ["red"]),
    ])
    func idsHavePrecedenceOverNames(text: String, ids: [String]) throws {
        let menu = try Menu(
            fruits: [Fruit(id: "fig", name: LocalizedName(english: "fig", korean: "무화과"))],
            juices: [
                JuiceSpec(id: "red", name: LocalizedName(english: "Green", korean: "초록"), recipe: ["fig": 1]),
                JuiceSpec(id: "RED", name: LocalizedName(english: "blue", korean: "파랑"), recipe: ["fig": 1]),
                JuiceSpec(
                    id: "blue",
                    name: LocalizedName(english: "green", korean: "파랑"),
                    recipe: ["fig": 1]
                ),
            ]
        )
        #expect(menu.juices(called: text).map(\.id) == ids)
    }

    @Test func aJuiceMayRepeatItsOwnNamesAsAliases() throws {
        let menu = try Menu(
            fruits: [Fruit(id: "fig", name: LocalizedName(english: "fig", korean: "무화과"))],
            juices: [
                JuiceSpec(
                    id: "fig",
                    name: LocalizedName(english: "fig juice", korean: "무화과쥬스"),
                    aliases: ["Fig", "figjuice", "FIGGY", "figgy"],
                    recipe: ["fig": 1]
                )
            ]
        )
        #expect(menu.juices(called: "Figgy") == menu.juices)
    }
}
