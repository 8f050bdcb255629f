import JuiceMessages
import Synchronization

@testable import JuiceKiosk

/// A clock that tests set.
final class TestClock: Sendable {
    private let instant = Mutex(ContinuousClock.now)

    var now: ContinuousClock.Instant { instant.withLock { $0 } }

    func advance(_ duration: Duration) { instant.withLock { $0 += duration } }
}

/// Sample answers and stock records.
enum Sample {
    static func made(
        _ id: String,
        store: String = "gangnam",
        isDuplicate: Bool = false,
        time: Int64 = 100_000
    ) throws -> TimedAnswer {
        let duplicate = isDuplicate ? #""duplicate":true,"# : ""
        return try timed(
            #"""
            {"type":"juiceMade",\#(duplicate)"orderId":"\#(id)","store":"\#(store)","offset":1,"juice":"kiwi","quantity":1,
             "used":{"kiwi":3},"left":{"kiwi":7},"message":"a <b>message</b>\nof two lines"}
            """#,
            time
        )
    }

    static func short(_ id: String, store: String = "gangnam", time: Int64 = 100_000) throws -> TimedAnswer {
        try timed(
            #"""
            {"type":"outOfStock","orderId":"\#(id)","store":"\#(store)","offset":1,"juice":"strawberry","quantity":1,
             "fruit":"strawberry","missing":[{"fruit":"strawberry","needed":16,"inStock":10}],"message":"short"}
            """#,
            time
        )
    }

    static func cancelled(_ id: String, store: String = "gangnam", isDuplicate: Bool = false) throws -> TimedAnswer {
        let duplicate = isDuplicate ? #""duplicate":true,"# : ""
        return try timed(
            #"""
            {"type":"cancelled",\#(duplicate)"orderId":"\#(id)","store":"\#(store)","offset":1,"returned":{"kiwi":3},
             "left":{"kiwi":10},"revision":2,"message":"cancelled: kiwi 3 returned"}
            """#,
            100_000
        )
    }

    static func stock(_ store: String, kiwi: Int, revision: Int = 1) -> StockRecord {
        StockRecord(store: store, revision: revision, stock: [FruitAmount(fruit: "kiwi", amount: kiwi)])
    }

    private static func timed(_ json: String, _ time: Int64) throws -> TimedAnswer {
        let result = Array(json.utf8).withUnsafeBytes { bytes in
            Result { () throws(MalformedMessage) in try AnswerDecoder().decode(bytes) }
        }
        return TimedAnswer(answer: try result.get(), time: time)
    }
}
