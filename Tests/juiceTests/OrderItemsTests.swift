import JuiceClient
import JuiceMaker
import JuiceMessages
import Testing

@testable import juice

struct OrderItemsTests {
    private static let menu = MenuNames(menu: .standard)

    private static func items(_ arguments: [String], quantity: String? = nil, names: MenuNames? = menu) throws -> [String] {
        let settings = try BenchSamples.settings(quantity.map { [.quantity: $0] } ?? [:])
        return try OrderItems(arguments, settings, names).items.map { "\($0.quantity) \($0.juice)" }
    }

    @Test(
        arguments: [
            (["kiwi"], nil, ["1 kiwi"]), (["키위쥬스"], "3", ["3 kiwi"]), (["kiwi:100"], nil, ["100 kiwi"]),
            (["kiwi:2", "strawberryBanana"], nil, ["2 kiwi", "1 strawberryBanana"]),
            // The service adds them up.
            (["kiwi", "키위쥬스:2"], nil, ["1 kiwi", "2 kiwi"]),
        ] as [([String], String?, [String])]
    )
    func readsJuicesAndTheirCounts(arguments: [String], quantity: String?, items: [String]) throws {
        #expect(try Self.items(arguments, quantity: quantity) == items)
    }

    @Test(
        arguments: [
            (["kiwi:2"], "3", "--quantity is for one juice"), (["kiwi", "mango"], "3", "--quantity is for one juice"),
            (["kiwi"], "101", "--quantity must be"),
            (["kiwi:0"], nil, #"the count in "kiwi:0" must be a whole number, from 1 to 100"#),
            (["kiwi:101"], nil, "the count in"),
            (["kiwi:99999999999999999999"], nil, "the count in"),
            (["kiwi:"], nil, #"no juice is called "kiwi:""#),
            (["kiwi:-1"], nil, "no juice is called"),
            (["kiwi:two"], nil, "no juice is called"),
            (["kiwi:٣"], nil, "no juice is called"),
            (["durian:2"], nil, #"no juice is called "durian""#),
            (Array(repeating: "kiwi", count: 21), nil, "an order has at most 20 juices, not 21"),
        ] as [([String], String?, String)]
    )
    func refuses(arguments: [String], quantity: String?, message: String) {
        let failure = #expect(throws: Failure.self) { try Self.items(arguments, quantity: quantity) }
        #expect(failure?.message.hasPrefix(message) == true, "\(failure?.message ?? "")")
        #expect(failure?.status == .usage)
    }

    @Test func aQuantityForAllIsAFaultWhereverItIsGiven() throws {
        let settings = try Settings(flags: [:], file: nil, environment: ["JUICE_QUANTITY": "2"])
        let failure = #expect(throws: Failure.self) { try OrderItems(["kiwi", "mango"], settings, Self.menu) }
        #expect(failure?.message.hasPrefix("JUICE_QUANTITY in the environment is for one juice") == true)
    }

    @Test func aNameOnTheMenuMayLookLikeACount() throws {
        let names = LocalizedName(english: "seven:7", korean: "칠:7")
        let menu = try Menu(fruits: Menu.standard.fruits, juices: [JuiceSpec(id: "seven:7", name: names, recipe: ["kiwi": 3])])
        let table = [("seven:7", "1 seven:7"), ("seven:7:2", "2 seven:7"), ("칠:7:3", "3 seven:7")]
        for (argument, item) in table { #expect(try Self.items([argument], names: MenuNames(menu: menu)) == [item]) }
    }

    @Test(
        arguments: [
            (["durian"], "-7", ["-7 durian"]), (["durian:0"], nil, ["0 durian"]), (["a:b"], nil, ["1 a:b"]),
            (["a:1:1"], nil, ["1 a:1"]), ([":2"], nil, ["2 "]),
        ] as [([String], String?, [String])]
    )
    func sendsAnythingUnchecked(arguments: [String], quantity: String?, items: [String]) throws {
        #expect(try Self.items(arguments, quantity: quantity, names: nil) == items)
    }
}
