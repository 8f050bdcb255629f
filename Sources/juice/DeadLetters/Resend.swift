import JuiceMessages
import JuiceService
import Kafka

/// Resends selected dead letters.
struct Resend {
    /// The outcome for a dead letter.
    struct Outcome {
        enum Result {
            case resent(topic: String, partition: Int32)
            case resentBefore
            case refused(String)
        }

        let position: LetterPosition
        let result: Result

        var isResent: Bool {
            if case .resent = result { true } else { false }
        }

        var isRefused: Bool {
            if case .refused = result { true } else { false }
        }

        var text: String {
            switch result {
            case .resent(let topic, let partition): "\(position.text) sent to \(topic) partition \(partition)"
            case .resentBefore: "\(position.text) was sent before"
            case .refused(let reason): "\(position.text) not sent: \(reason)".printable
            }
        }

        var json: String {
            struct Line: Encodable {
                let partition: Int32
                let offset: Int64
                var result = "resent"
                var topic: String?
                var toPartition: Int32?
                var reason: String?
            }
            var line = Line(partition: position.partition, offset: position.offset)
            switch result {
            case .resent(let topic, let partition): (line.topic, line.toPartition) = (topic, partition)
            case .resentBefore: line.result = "resentBefore"
            case .refused(let reason): (line.result, line.reason) = ("refused", reason)
            }
            return JSONText.line(line)
        }
    }

    let connection: Connection
    let chosen: ResendChoice
    var isUnchecked = false
    let timeout: Duration
    /// Asks the user whether to send this many.
    var confirm: (Int) throws(Failure) -> Bool = { _ in true }

    /// The most attempts in a row without progress.
    private static let mostAttempts = 3

    /// Resends the letters.
    ///
    /// - Parameter show: receives each outcome once it is certain.
    func run(show: (Outcome) -> Void) throws(Failure) -> [Outcome] {
        let plan = try plan()
        var outcomes: [Outcome] = []
        var settled: Set<LetterPosition> = []
        var inDoubt: [LetterPosition: ResendPlan.Record] = [:]
        func settle(_ position: LetterPosition, _ result: Outcome.Result) {
            guard settled.insert(position).inserted else { return }
            let outcome = Outcome(position: position, result: result)
            outcomes.append(outcome)
            show(outcome)
        }
        var attempts = 0
        var isConfirmed = false
        while true {
            // Create the sender before reading: it fences all others, so the notes are complete.
            let sender = try DeadLetterSender(connection, deadline: Deadline(after: timeout))
            let items = try items(plan, sentInDoubt: inDoubt, settle)
            if items.isEmpty { return outcomes }
            if !isConfirmed, try !confirm(items.count) { return outcomes }
            isConfirmed = true
            let settledBefore = settled.count
            do throws(DeadLetterSender.SendError) {
                try send(items, sender, inDoubt: &inDoubt, settle)
                return outcomes
            } catch {
                attempts = settled.count > settledBefore ? 0 : attempts + 1
                // The transactional id may have expired since it was initialised, or a slow network hides who owns it. Start over:
                // the notes show what was sent.
                guard case .lost = error, attempts < Self.mostAttempts else { throw sender.failure(error) }
            }
        }
    }

    /// Reads the selected letters, and settles those that must not be sent.
    private func items(
        _ plan: ResendPlan, sentInDoubt: [LetterPosition: ResendPlan.Record], _ settle: (LetterPosition, Outcome.Result) -> Void
    ) throws(Failure) -> [DeadLetterSender.Item] {
        let reader = try DeadLetterReader(connection, upTo: .highWatermark, deadline: Deadline(after: timeout))
        let found = try read(reader)
        let missing = Set((chosen.positions ?? []).map(found.first)).subtracting(found.letters.map(\.position))
        if chosen.positions?.count == 1, let position = missing.first { throw reader.missing(position) }
        for position in missing.sorted() { settle(position, .refused("there is no dead letter")) }
        var items: [DeadLetterSender.Item] = []
        for letter in found.letters {
            guard !found.resent.contains(letter.position) else {
                if let record = sentInDoubt[letter.position] {
                    settle(letter.position, .resent(topic: record.topic, partition: record.partition))
                } else if chosen.positions != nil {
                    settle(letter.position, .resentBefore)
                }
                continue
            }
            do throws(ResendPlan.Refusal) {
                items.append(.init(letter: letter.position, record: try plan.record(for: letter)))
            } catch { settle(letter.position, .refused(error.reason)) }
        }
        return items
    }

    private func send(
        _ items: [DeadLetterSender.Item], _ sender: DeadLetterSender, inDoubt: inout [LetterPosition: ResendPlan.Record],
        _ settle: (LetterPosition, Outcome.Result) -> Void
    ) throws(DeadLetterSender.SendError) {
        for start in stride(from: 0, to: items.count, by: DeadLetterSender.batchSize) {
            let batch = items[start..<min(start + DeadLetterSender.batchSize, items.count)]
            for item in batch { inDoubt[item.letter] = item.record }
            try sender.send(batch, deadline: Deadline(after: timeout))
            for item in batch { settle(item.letter, .resent(topic: item.record.topic, partition: item.record.partition)) }
        }
    }

    private func read(_ reader: DeadLetterReader) throws(Failure) -> DeadLetterReader.Letters {
        do throws(Failure) {
            if let positions = chosen.positions { return try reader.at(positions, idleTimeout: timeout) }
            return try reader.all(idleTimeout: timeout) { chosen.filter.matches($0) }
        } catch {
            guard error.status == .unavailable else { throw error }
            throw Failure(
                .unavailable, "the dead letters cannot be read to their end within \(timeout.inSeconds)",
                hint: "a transaction of an instance that died may be undecided for some 20 s: try again")
        }
    }

    private func plan() throws(Failure) -> ResendPlan {
        let admin = try connection.admin(reachedWithin: timeout)
        let metadata = try connection.ask { () throws(KafkaError) in
            let metadata = try admin.metadata(topics: [connection.topics.orders], timeout: timeout)
            if let error = metadata.topics.first?.error { throw error }
            return metadata
        }
        return ResendPlan(
            topics: connection.topics, partitionCount: Int32(clamping: max(1, metadata.topics.first?.partitionCount ?? 1)),
            value: chosen.value, key: chosen.key, isUnchecked: isUnchecked)
    }
}
