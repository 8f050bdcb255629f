import Foundation
import JuiceRestockBot
import Logging

/// What the bot says in its log: each thing once.
struct BotVoice {
    private let logger: Logger
    private let target: Int
    private var fruitsBeyondTarget: Set<String> = []
    private var waitingSince: ContinuousClock.Instant?
    private var hasToldOfWaiting = false
    private var troubles = 0

    /// A service that has not answered for this long may not be running.
    static let patience = Duration.seconds(30)

    init(logger: Logger, target: Int) {
        self.logger = logger
        self.target = target
    }

    mutating func watching(_ partitions: [Int32], underway: Int) {
        let waiting = underway == 0 ? "" : "; \(underway) refills on their way already"
        // Restored to try once more what has just failed, it is not news.
        logger.log(
            level: troubles > 0 ? .debug : .notice,
            "watching\(waiting)",
            metadata: ["partitions": "\(partitions.map(String.init).joined(separator: ","))"]
        )
    }

    mutating func note(_ notice: ShortageWatch.Notice) {
        switch notice {
        case .refilled(let store, let id):
            logger.debug("refilled", metadata: ["store": "\(store)", "id": "\(id.text)"])
            answered()
        case .rejected(let store, let id, let reason, let message):
            logger.warning(
                "refill rejected, and not sent again before the stock changes: \(message)",
                metadata: ["store": "\(store)", "id": "\(id.text)", "reason": "\(reason)"]
            )
            answered()
        case .beyondTarget(let fruit, let needed):
            guard fruitsBeyondTarget.insert(fruit).inserted else { return }
            logger.notice("an order needed \(needed) \(fruit), more than --target \(target)")
        }
    }

    /// Takes note of how many refills have no answer.
    mutating func waits(for underway: Int, now: ContinuousClock.Instant) {
        guard underway > 0 else {
            answered()
            return
        }
        waitingSince = waitingSince ?? now
        guard !hasToldOfWaiting, let waitingSince, now - waitingSince >= Self.patience else { return }
        hasToldOfWaiting = true
        logger.warning(
            "\(underway) refills have no answer for \(Self.patience.inSeconds): is the service running? They are not sent again"
        )
    }

    private mutating func answered() {
        if hasToldOfWaiting { logger.notice("refills are answered again") }
        hasToldOfWaiting = false
        waitingSince = nil
    }

    /// Nothing was written, or it is not known; it is looked up and decided anew.
    mutating func lost(_ error: any Error) {
        troubles += 1
        // One or two are ordinary: another bot came or went.
        let level = troubles == Self.ordinaryTroubles ? Logger.Level.warning : .info
        logger.log(level: level, "looking anew how things stand: \(error)")
    }

    mutating func committed() {
        if troubles >= Self.ordinaryTroubles { logger.notice("refills are written again") }
        troubles = 0
    }

    private static let ordinaryTroubles = 5
}

/// A refill as one line.
enum RefillLine {
    /// `12:34:56  gangnam       juice-restock-bot/0-12  kiwi +25 (5 → 30)`.
    static func text(_ refill: Refill, time: String?, paint: Paint) -> String {
        let amounts = refill.entries.map {
            "\($0.fruit.printable) +\($0.amount) (\($0.level) → \($0.level + $0.amount))"
        }
        return [
            time.map { paint(.faint, $0) }, DisplayWidth.pad(refill.store.printable, to: 12),
            paint(.faint, DisplayWidth.pad(refill.id.text.printable, to: 24)),
            paint(.cyan, amounts.joined(separator: ", ")),
        ]
        .compactMap { $0 }.joined(separator: "  ")
    }

    /// `{"refill":[{"added":25,"fruit":"kiwi","level":5}],"restockId":"…","store":"gangnam"}`.
    static func json(_ refill: Refill) -> String {
        struct Line: Encodable {
            struct Fruit: Encodable {
                let fruit: String
                let level: Int
                let added: Int
            }
            let restockId: String
            let store: String
            let refill: [Fruit]
        }
        let line = Line(
            restockId: refill.id.text,
            store: refill.store,
            refill: refill.entries.map { .init(fruit: $0.fruit, level: $0.level, added: $0.amount) }
        )
        return JSONLine.text(line)
    }
}
