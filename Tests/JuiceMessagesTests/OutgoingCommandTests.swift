import JuiceMaker
import Testing

@testable import JuiceMessages

@Suite struct OutgoingCommandTests {
    private func json(_ command: OutgoingCommand) -> String { String(decoding: command.value, as: UTF8.self) }

    @Test func orders() {
        let order = OutgoingCommand.order(id: "pos-7-000123", store: "gangnam", juice: "strawberryBanana")
        #expect(json(order) == #"{"orderId":"pos-7-000123","juice":"strawberryBanana","quantity":1}"#)
        #expect((order.kind, order.id, order.store) == (.order, "pos-7-000123", "gangnam"))
        let odd = OutgoingCommand.order(id: "\"", store: "", juice: "\n", quantity: -7)
        #expect(json(odd) == #"{"orderId":"\"","juice":"\n","quantity":-7}"#)
    }

    @Test func restocks() {
        let amounts = [FruitAmount(fruit: "strawberry", amount: 16), FruitAmount(fruit: "kiwi", amount: -2)]
        let add = OutgoingCommand.restock(id: "bot-1-42", store: "gangnam", .add, amounts)
        #expect(json(add) == #"{"restockId":"bot-1-42","add":{"strawberry":16,"kiwi":-2}}"#)
        #expect((add.kind, add.id, add.store) == (.restock, "bot-1-42", "gangnam"))
        let mango = [FruitAmount(fruit: "mango", amount: 30)]
        let set = OutgoingCommand.restock(id: "r", store: "", .set, mango)
        #expect(json(set) == #"{"restockId":"r","set":{"mango":30}}"#)
    }

    @Test func baskets() {
        let items = [OrderedJuice(juice: "kiwi", quantity: 2), OrderedJuice(juice: "strawberryBanana", quantity: 1)]
        let basket = OutgoingCommand.basket(id: "pos-7-000124", store: "gangnam", items)
        #expect(
            json(basket)
                == #"{"orderId":"pos-7-000124","items":[{"juice":"kiwi","quantity":2},{"juice":"strawberryBanana","quantity":1}]}"#
        )
        #expect((basket.kind, basket.id, basket.store) == (.order, "pos-7-000124", "gangnam"))
        #expect(
            json(.basket(id: "\"", store: "", [OrderedJuice(juice: "\n", quantity: 0)]))
                == #"{"orderId":"\"","items":[{"juice":"\n","quantity":0}]}"#)
        #expect(json(.basket(id: "a", store: "", [])) == #"{"orderId":"a","items":[]}"#)
    }

    @Test func cancels() {
        let cancel = OutgoingCommand.cancel(id: "pos-7-\"000124", store: "gangnam")
        #expect(json(cancel) == #"{"orderId":"pos-7-\"000124","cancel":true}"#)
        #expect((cancel.kind, cancel.id, cancel.store) == (.cancel, "pos-7-\"000124", "gangnam"))
    }

    @Test func theDecoderReadsWhatIsWritten() {
        let decoder = CommandDecoder(menu: .standard)
        let order = OutgoingCommand.order(id: "a\\b", store: "", juice: "kiwi", quantity: 7)
        #expect(order.value.withUnsafeBytes { summary(decoder.decodeOrder($0)) } == "a\\b: 7 kiwi")
        let items = [OrderedJuice(juice: "kiwi", quantity: 7), OrderedJuice(juice: "mango", quantity: 100)]
        let basket = OutgoingCommand.basket(id: "b", store: "", items)
        #expect(basket.value.withUnsafeBytes { summary(decoder.decodeOrder($0)) } == "b: [7 kiwi, 100 mango]")
        let cancel = OutgoingCommand.cancel(id: "b\n", store: "")
        #expect(cancel.value.withUnsafeBytes { summary(decoder.decodeOrder($0)) } == "b\n: cancel")
        let least = [FruitAmount(fruit: "mango", amount: .min)]
        let restock = OutgoingCommand.restock(id: "r", store: "", .set, least)
        #expect(restock.value.withUnsafeBytes { summary(decoder.decodeRestock($0)) } == "r: set mango -9223372036854775808")
    }
}
