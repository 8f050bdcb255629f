import JuiceMaker
import JuiceMessages
import Testing

@testable import JuiceBench

struct BenchOrdersTests {
    @Test func theSameSeedMakesTheSameOrders() {
        var first = BenchOrders(stores: 1000)
        var second = BenchOrders(stores: 1000)
        var other = BenchOrders(stores: 1000, seed: 2)
        let orders = (0..<100).map { first.next(number: $0) }
        #expect(orders.elementsEqual((0..<100).map { second.next(number: $0) }, by: ==))
        #expect(!orders.elementsEqual((0..<100).map { other.next(number: $0) }, by: ==))
    }

    @Test func ordersAreWhatTheServiceUnderstands() throws {
        var orders = BenchOrders(stores: 1000)
        for number in [0, 7, 123_456_789] {
            let (key, value) = orders.next(number: number)
            let text = String(decoding: value, as: UTF8.self)
            #expect((105...125).contains(value.count), "\(text)")
            #expect(text.hasPrefix(#"{"orderId":"pos-7-\#(String(number + 1_000_000_000).dropFirst())","juice":""#))
            #expect(String(decoding: key, as: UTF8.self).hasPrefix("store-0000"))
            let isUnderstood = value.withUnsafeBytes { bytes in
                Menu.standard.juices.contains { text.contains("\"\($0.id)\"") } && BenchOrders.number(in: bytes) == number
            }
            #expect(isUnderstood)
        }
        #expect(String(decoding: BenchOrders.store(BenchOrders.mostStores), as: UTF8.self) == "store-9999999")
    }

    @Test(
        arguments: [
            (#"{"type":"juiceMade","duplicate":true,"orderId":"pos-7-000000042","store":"a"}"#, 42),
            (#"{"type":"restocked","restockId":"pos-7-000000042"}"#, nil), (#"{"orderId":"pos-7-00000004"#, nil),
            (#"{"orderId":"pos-7-00000004x"}"#, nil), ("", nil),
        ] as [(String, Int?)]
    )
    func findsTheNumberInAnAnswer(record: String, number: Int?) {
        #expect(Array(record.utf8).withUnsafeBytes { BenchOrders.number(in: $0) } == number)
    }
}
