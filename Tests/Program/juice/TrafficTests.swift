import JuiceDomain
import JuiceMessages
import Testing

@testable import juice

struct TrafficTests {
    private static func answer(_ type: String, id: String = #""orderId":"o""#, _ members: String) throws -> Answer {
        try Answer(json: #"{"type":"\#(type)",\#(id),"store":"main","offset":1,\#(members),"message":""}"#)
    }

    private let made, short, rejected, restocked, cancelled, cancelRejected: Answer

    init() throws {
        made = try Self.answer("juiceMade", #""juice":"kiwi","quantity":1,"used":{},"left":{}"#)
        short = try Self.answer(
            "outOfStock", #""juice":"kiwi","quantity":1,"fruit":"kiwi","missing":[{"fruit":"kiwi","needed":3,"inStock":1}]"#)
        rejected = try Self.answer("rejected", #""reason":"r""#)
        cancelRejected = try Self.answer("rejected", #""reason":"r","cancel":true"#)
        restocked = try Self.answer("restocked", id: #""restockId":"bot-1""#, #""left":{}"#)
        cancelled = try Self.answer("cancelled", #""returned":{},"left":{}"#)
    }

    @Test func theSummaryAddsUp() {
        var tally = Tally()
        for answer in [made, made, short, rejected, restocked, cancelled, cancelRejected] { tally.count(answer) }
        #expect(tally.summary == "orders 4, juice made 2, out of stock 1, rejected 1, cancelled 1")
    }

    @Test func trafficFollowsItsSeed() {
        func commands(_ seed: UInt64) -> [OutgoingCommand] {
            var traffic = Traffic(stores: ["a", "b"], menu: .standard, seed: seed)
            return (0..<500).flatMap { _ in traffic.next() }
        }
        let first = commands(7)
        #expect(first == commands(7))
        #expect(first != commands(8))
        let orders = first.filter { $0.kind == .order }
        #expect(Set(orders.map(\.id)).count == 500)
        #expect(Set(orders.map(\.store)) == ["a", "b"])
        func count(_ part: String) -> Int { orders.count { String(decoding: $0.value, as: UTF8.self).contains(part) } }
        #expect((1...50).contains(count(Traffic.unknownJuice)))
        #expect((20...150).contains(count(#""items":"#)))

        let cancels = first.indices.filter { first[$0].kind == .cancel }
        #expect((5...50).contains(cancels.count))
        #expect(cancels.allSatisfy { first[$0 - 1].id == first[$0].id && first[$0 - 1].store == first[$0].store })
    }

    @Test func anEmptyShelfIsRefilled() throws {
        let traffic = Traffic(stores: ["a"], menu: .standard, seed: 7, extra: 20)
        let restock = try #require(traffic.restock(after: short))
        #expect((restock.id, restock.kind, restock.store) == ("bot-o", .restock, "main"))
        #expect(String(decoding: restock.value, as: UTF8.self) == #"{"restockId":"bot-o","add":{"kiwi":22}}"#)
        #expect(traffic.restock(after: made) == nil)
    }
}
