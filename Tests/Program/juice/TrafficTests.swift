import JuiceDomain
import JuiceMessages
import Testing

@testable import juice

struct TrafficTests {
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
        let restock = try traffic.restock(after: Answer(json: AnswerSample.short.record()))
        // One order takes 3 kiwis, and there is 1.
        #expect(restock == .restock(id: "bot-o", store: "gangnam", .add, [FruitAmount(fruit: "kiwi", amount: 22)]))
        #expect(try traffic.restock(after: Answer(json: AnswerSample.made.record())) == nil)
    }
}
