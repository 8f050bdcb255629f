import JuiceMaker
import Testing

@testable import JuiceMessages

@Suite struct CommandEncoderTests {
    @Test func orders() {
        let json = written {
            CommandEncoder.order(id: "pos-7-000123", juice: "strawberryBanana", into: &$0)
        }
        #expect(json == #"{"orderId":"pos-7-000123","juice":"strawberryBanana","quantity":1}"#)
        let odd = written { CommandEncoder.order(id: "\"", juice: "\n", quantity: -7, into: &$0) }
        #expect(odd == #"{"orderId":"\"","juice":"\n","quantity":-7}"#)
    }

    @Test func restocks() {
        let add = written {
            CommandEncoder.restock(
                id: "bot-1-42",
                .add,
                [FruitAmount(fruit: "strawberry", amount: 16), FruitAmount(fruit: "kiwi", amount: -2)],
                into: &$0
            )
        }
        #expect(add == #"{"restockId":"bot-1-42","add":{"strawberry":16,"kiwi":-2}}"#)
        let set = written {
            CommandEncoder.restock(id: "r", .set, [FruitAmount(fruit: "mango", amount: 30)], into: &$0)
        }
        #expect(set == #"{"restockId":"r","set":{"mango":30}}"#)
    }

    @Test func theDecoderReadsWhatIsWritten() {
        let decoder = CommandDecoder(menu: .standard)
        let order = written { CommandEncoder.order(id: "a\\b", juice: "kiwi", quantity: 7, into: &$0) }
        #expect([UInt8](order).withUnsafeBytes { summary(decoder.decodeOrder($0)) } == "a\\b: 7 kiwi")
        let restock = written {
            CommandEncoder.restock(id: "r", .set, [FruitAmount(fruit: "mango", amount: .min)], into: &$0)
        }
        #expect(
            [UInt8](restock).withUnsafeBytes { summary(decoder.decodeRestock($0)) }
                == "r: set mango -9223372036854775808"
        )
    }
}
