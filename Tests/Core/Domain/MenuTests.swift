import Testing

@testable import JuiceDomain

@Suite struct MenuTests {
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

    /// Faults that ``GoldenMenus`` do not have.
    @Test(
        arguments: [
            Fault("juices: must not be empty", juices: []),
            Fault("fruits[1].id: must not be empty", fruits: [fruit("a"), fruit("")]),
            Fault("fruits[0].id: must not be longer than 128 bytes", fruits: [fruit(tooLong), fruit("kiwi")]),
            Fault(
                "fruits[0].name.en: must not be empty",
                fruits: [Fruit(id: "kiwi", name: LocalizedName(english: "", korean: "키위"))]),
            Fault(
                "fruits[0].name.ko: must not be longer than 128 bytes",
                fruits: [Fruit(id: "kiwi", name: LocalizedName(english: "kiwi", korean: tooLong))]),
            Fault("fruits[2].id: the id \"kiwi\" is taken", fruits: [fruit("kiwi"), fruit("mango"), fruit("kiwi")]),
            Fault("fruits[0].initialStock: must be from 0 to 1000000000", fruits: [fruit("kiwi", initialStock: -1)]),
            Fault("fruits[0].initialStock: must be from 0 to 1000000000", fruits: [fruit("kiwi", initialStock: 1_000_000_001)]),
            Fault(
                "fruits: must be fewer, or have shorter ids and names: an answer could be longer than 512 KiB",
                fruits: (1_000..<2_800).map { fruit(String(repeating: "x", count: 110) + "\($0)") }),
            Fault("juices[1].id: the id \"kiwi\" is taken", juices: [juice("kiwi", [("kiwi", 3)]), juice("kiwi", [("mango", 3)])]),
            Fault("juices[0].id: must not be empty", juices: [juice("", [("kiwi", 3)])]),
            Fault("juices[0].id: must not be longer than 128 bytes", juices: [juice(tooLong, [("kiwi", 3)])]),
            Fault("juices[0].recipe.kiwi: the amount must be at least 1", juices: [juice("kiwi", [("kiwi", 0)])]),
            Fault("juices[0].recipe.kiwi: the amount must be at least 1", juices: [juice("kiwi", [("kiwi", .min)])]),
            Fault(
                "juices[0].recipe.kiwi: the amount must be at most 1000000000", juices: [juice("kiwi", [("kiwi", 1_000_000_001)])]),
            Fault("juices[0].aliases[0]: must not be longer than 128 bytes", juices: aliases([tooLong], [])),
            Fault("juices[1].aliases[1]: already means the juice \"kiwi\"", juices: aliases([], ["m", "Ki wi"])),
            Fault("juices[0].aliases[0]: already means the juice \"mango\"", juices: aliases(["mango"], [])),
            // All juices here have these names.
            Fault("juices[0].aliases[0]: already means the juice \"mango\"", juices: aliases(["JUICE"], [])),
            Fault("juices[1].aliases[0]: already means the juice \"kiwi\"", juices: aliases([], ["쥬 스"])),
            Fault("juices[0].aliases[0]: already means the juice \"mango\"", juices: aliases(["gold"], ["Gold"])),
            Fault(
                "juices[1].aliases[0]: already means the juice \"키위\"",
                juices: aliases([], ["\u{110F}\u{1175}\u{110B}\u{1171}"], of: "키위")),
        ] as [Fault]
    )
    func faultIsFoundAndItsPlaceNamed(fault: Fault) {
        let error = #expect(throws: MenuError.self) { try Menu(fruits: fault.fruits, juices: fault.juices) }
        #expect(error?.description == fault.description)
    }

    /// A menu with a fault. Logs show the fault alone: one of these menus has 1,800 fruits.
    struct Fault: CustomTestStringConvertible {
        let description: String
        let fruits: [Fruit]
        let juices: [JuiceSpec]

        init(_ description: String, fruits: [Fruit]? = nil, juices: [JuiceSpec]? = nil) {
            self.description = description
            self.fruits = fruits ?? [fruit("kiwi"), fruit("mango")]
            self.juices = juices ?? MenuTests.aliases([], [])
        }

        var testDescription: String { description }
    }

    private static let tooLong = String(repeating: "x", count: 129)

    /// Two juices with these aliases.
    private static func aliases(_ first: [String], _ second: [String], of id: String = "kiwi") -> [JuiceSpec] {
        [juice(id, [("kiwi", 3)], aliases: first), juice("mango", [("mango", 3)], aliases: second)]
    }
}

func fruit(_ id: String, initialStock: Int = 10) -> Fruit {
    Fruit(id: id, name: LocalizedName(english: "fruit", korean: "과일"), initialStock: initialStock)
}

func juice(_ id: String, _ recipe: [(fruit: String, amount: Int)], aliases: [String] = []) -> JuiceSpec {
    JuiceSpec(id: id, name: LocalizedName(english: "juice", korean: "쥬스"), aliases: aliases, recipe: recipe)
}

@Suite struct MenuLookupTests {
    @Test(arguments: [
        ("mangoKiwi", ["mangoKiwi"]), ("MANGOKIWI", ["mangoKiwi"]), (" mango kiwi ", ["mangoKiwi"]),
        ("Mango Kiwi Juice", ["mangoKiwi"]), ("mangokiwijuice", ["mangoKiwi"]), ("망고키위쥬스", ["mangoKiwi"]),
        ("망고 키위\u{3000}쥬스", ["mangoKiwi"]), ("망키쥬스", ["mangoKiwi"]), ("망키 쥬스", ["mangoKiwi"]),
        // As it is spelled today, composed and decomposed.
        ("망고키위주스", ["mangoKiwi"]), ("망키 주스", ["mangoKiwi"]), ("딸기 주스", ["strawberry"]),
        ("\u{1106}\u{1161}\u{11BC}\u{110F}\u{1175}\u{110C}\u{116E}\u{1109}\u{1173}", ["mangoKiwi"]),
        // Its letters one by one, as the terminal and file system of macOS write them.
        ("\u{1106}\u{1161}\u{11BC}\u{110F}\u{1175} \u{110C}\u{1172}\u{1109}\u{1173}", ["mangoKiwi"]),
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
        // An id as it is, then an id in another form, then a name.
        ("red", ["red"]), ("RED", ["RED"]), ("Red", ["red", "RED"]), ("r e d", ["red", "RED"]),
        ("blue", ["blue"]), ("green", ["red", "blue"]), ("초록", ["red"]),
    ])
    func idsHavePrecedenceOverNames(text: String, ids: [String]) throws {
        func spec(_ id: String, _ english: String, _ korean: String) -> JuiceSpec {
            JuiceSpec(id: id, name: LocalizedName(english: english, korean: korean), recipe: [("fig", 1)])
        }
        let menu = try Menu(
            fruits: [fruit("fig")],
            juices: [spec("red", "Green", "초록"), spec("RED", "blue", "파랑"), spec("blue", "green", "파랑")])
        #expect(menu.juices(called: text).map(\.id) == ids)
    }

    @Test func aJuiceMayRepeatItsOwnNamesAsAliases() throws {
        let aliases = ["Fig", "juice", "FIGGY", "figgy"]
        let menu = try Menu(fruits: [fruit("fig")], juices: [juice("fig", [("fig", 1)], aliases: aliases)])
        #expect(menu.juices(called: "Figgy") == menu.juices)
    }
}
