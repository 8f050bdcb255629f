import Foundation
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
        for (time, answer) in [made, made, short, rejected].enumerated() { tally.count(answer, after: .milliseconds(time + 1)) }
        for answer in [restocked, cancelled, cancelRejected] { tally.count(answer) }
        #expect(tally.summary == "orders 4, juice made 2, out of stock 1, rejected 1, cancelled 1")
        #expect(tally.restocked == 1)
        #expect(tally.answerTimes?.median == .milliseconds(3))
        #expect(tally.answerTimes?.p99 == .milliseconds(4))
    }

    @Test func answerTimesAreTheLatest() {
        var tally = Tally()
        for _ in 0..<1000 { tally.count(made, after: .seconds(9)) }
        for _ in 0..<1000 { tally.count(made, after: .milliseconds(5)) }
        #expect(tally.answerTimes?.p99 == .milliseconds(5))
    }

    @Test func trafficFollowsItsSeed() {
        func orders(_ seed: UInt64) -> [Traffic.Order] {
            var traffic = Traffic(stores: ["a", "b"], menu: .standard, seed: seed)
            return (0..<500).map { _ in traffic.next() }
        }
        let first = orders(7)
        #expect(first == orders(7))
        #expect(first != orders(8))
        #expect(Set(first.map(\.id)).count == 500)
        #expect(Set(first.map(\.store)) == ["a", "b"])
        let items = first.flatMap(\.items)
        #expect((1...50).contains(items.count { $0.juice == Traffic.unknownJuice }))
        #expect(items.allSatisfy { JuiceOrder.quantities.contains($0.quantity) })
        #expect((20...150).contains(first.count { $0.items.count > 1 }))
    }

    @Test func someRecentOrdersAreCancelledOnce() {
        func cancelled(_ seed: UInt64) -> [Traffic.Order] {
            var traffic = Traffic(stores: ["a", "b"], menu: .standard, seed: seed)
            var sent: [Traffic.Order] = []
            return (0..<500).compactMap { _ in
                sent.append(traffic.next())
                let cancelled = traffic.nextCancelled()
                #expect(cancelled.map(sent.suffix(20).contains) ?? true)
                return cancelled
            }
        }
        let first = cancelled(7)
        #expect(first == cancelled(7))
        #expect((5...50).contains(first.count))
        #expect(Set(first.map(\.id)).count == first.count)
    }

    @Test func anEmptyShelfIsRefilledOnce() throws {
        var restocker = TrafficRestocker(extra: 20)
        let first = restocker.refill(after: short)
        let restock = try #require(first)
        #expect(restock.id == "bot-1")
        #expect(restock.kind == .restock)
        #expect(restock.store == "main")
        #expect(String(decoding: restock.value, as: UTF8.self) == #"{"restockId":"bot-1","add":{"kiwi":22}}"#)
        #expect(restocker.refill(after: short) == nil)
        #expect(restocker.refill(after: made) == nil)
        // After the restock was answered, the next shortage is refilled.
        #expect(restocker.refill(after: restocked) == nil)
        #expect(restocker.refill(after: short) != nil)
    }

    @Test(arguments: [
        ("a,b", ["a", "b"]), ("2", ["store-1", "store-2"]), ("강남", ["강남"]), ("a,,b", nil), ("a,a", nil),
        ("0", nil),
        ("", nil),
    ])
    func readsStores(text: String, names: [String]?) {
        #expect(TrafficPlan.storeNames(text) == names)
    }
}

/// Tests the file for health checks.
@Suite struct ReadyFileTests {
    private let path = FileManager.default.temporaryDirectory.path + "/ready-\(UUID().uuidString)"

    private var exists: Bool { FileManager.default.fileExists(atPath: path) }

    @Test func itIsThereWhileTheServiceIsReady() throws {
        #expect(FileManager.default.createFile(atPath: path, contents: nil))
        let file = try ReadyFile(path: path)
        #expect(!exists)
        file.create()
        #expect(exists)
        file.remove()
        #expect(!exists)
    }

    @Test func oneThatCannotBeWrittenIsRefusedAtOnce() {
        #expect(throws: Failure.self) { try ReadyFile(path: "/no/such/folder/ready") }
    }
}
