import JuiceMaker
import Testing

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
