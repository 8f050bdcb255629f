import JuiceEngine
import JuiceRestockBot
import Kafka

/// The bots' consumer group, and the refills under way.
final class SimulatedBotGroup {
    var members: SimulatedGroup
    var committed: [Int32: Offset] = [:]
    /// Refills that no broker has received yet, in the order of sending.
    var inFlight: [(partition: Int32, refill: Refill)] = []

    init(partitionCount: Int32) { members = SimulatedGroup(partitionCounts: [partitionCount]) }
}

/// One bot's log on a ``SimulatedCluster``: a member of the bots' group.
final class SimulatedAnswerLog: AnswerLog {
    enum Call: CaseIterable { case poll, positions, start, commit }

    /// The fate of a refill that is sent.
    enum Fate: CaseIterable {
        case confirmed
        /// It is written twice, the second time by a retry.
        case twice
        case lost
        case unconfirmed
        /// It arrives after the bot gave it up, as do later refills for the same partition until then.
        case late
    }

    let name: String
    private let cluster: SimulatedCluster
    private let group: SimulatedBotGroup
    private let flaw: Flaw?
    private var membership: SimulatedGroup.Membership?
    /// The next answer to read.
    private var next: Positions = [:]
    private var reportedEnds: Positions = [:]
    private var lent: [SimulatedPartition.Record] = []
    private var hasBegun = false

    /// The call that fails. A commit may take effect all the same.
    var fault: (call: Call, isDone: Bool)?
    /// Called for each refill.
    var fate: () -> Fate = { .confirmed }
    /// The most answers of one partition in a poll.
    var maxRecords = 1
    var trace: ((String) -> Void)?

    init(_ name: String, _ cluster: SimulatedCluster, _ group: SimulatedBotGroup, flaw: Flaw?) {
        (self.name, self.cluster, self.group, self.flaw) = (name, cluster, group, flaw)
    }

    /// Whether it has the current assignment and has read all of it.
    var isAtEnds: Bool {
        guard let membership, hasBegun, group.members.isCurrent(membership) else { return false }
        return next.allSatisfy { $1 == cluster[.results, $0.partition].lastStableOffset }
    }

    private func check(_ call: Call) throws(KafkaError) {
        if cluster.isDown, call != .poll, call != .start { throw KafkaError(code: .timedOut, isRetriable: true) }
        guard let fault, fault.call == call, !fault.isDone else { return }
        self.fault = nil
        trace?("\(call): injected")
        throw KafkaError(code: .timedOut, isRetriable: true)
    }

    func poll() throws(KafkaError) -> AnswerPoll {
        do throws(KafkaError) {
            try check(.poll)
        } catch {
            leave()
            throw error
        }
        guard !cluster.isDown else { return .answers([], ends: [:]) }
        if membership.map({ !group.members.isCurrent($0) }) ?? true { return rebalance() }
        return read()
    }

    /// Rebalances as an eager consumer: first everything is revoked, then the new share is assigned.
    private func rebalance() -> AnswerPoll {
        (next, hasBegun) = ([:], false)
        if membership != nil {
            trace?("poll: revoked")
            membership = nil
        } else {
            membership = group.members.join(name)
            trace?("poll: assigned \(group.members.assignment(of: name))")
        }
        return .rebalanced
    }

    private func read() -> AnswerPoll {
        var answers: [AnswerRecord] = []
        var ends: Positions = [:]
        lent = []
        for partition in next.keys.sorted(by: { $0.partition < $1.partition }) {
            let log = cluster[.results, partition.partition]
            let span = log.readCommitted(from: next[partition] ?? 0, max: maxRecords)
            let end = span.next
            next[partition] = end
            for (offset, record) in span.records {
                lent.append(record)
                answers.append((partition, offset, record.timestamp, record.value?.view))
            }
            if end == log.lastStableOffset, reportedEnds[partition] != end {
                (reportedEnds[partition], ends[partition]) = (end, end)
            }
        }
        for answer in answers {
            let value = answer.value.map { String(decoding: $0.prefix(200), as: UTF8.self) } ?? "null"
            trace?("poll: \(answer.partition.partition)@\(answer.offset) \(value)")
        }
        return .answers(answers, ends: ends)
    }

    func positions() throws(KafkaError) -> Positions? {
        guard let membership else { return nil }
        try check(.positions)
        return group.members.assignment(of: membership.name)[0].reduce(into: [:]) {
            let start = cluster[.results, $1].start
            $0[TopicPartition(topic: "juice.results", partition: $1)] = max(group.committed[$1] ?? start, start)
        }
    }

    func start(at positions: Positions) throws(KafkaError) {
        try check(.start)
        trace?("start: " + positions.map { "\($0.partition)@\($1)" }.sorted().joined(separator: " "))
        (next, reportedEnds, hasBegun) = (positions, [:], true)
    }

    func send(_ refills: [Refill]) throws(KafkaError) {
        var isConfirmed = true
        for var refill in refills {
            if flaw == .refillIDNotDeterministic {
                let partition = next.first { $0.key.partition == refill.partition }
                refill.id = RefillIDs(group: "bots", partition: refill.partition)[partition?.value ?? 0]
            }
            let isBehind = cluster.isDown || group.inFlight.contains { $0.partition == refill.partition }
            let fate = isBehind ? .late : fate()
            trace?("send: \(refill.id) \(refill.store) \(refill.entries.map { "\($0.fruit)+\($0.amount)" }): \(fate)")
            switch fate {
            case .confirmed, .unconfirmed: cluster.write(refill)
            case .twice:
                cluster.write(refill)
                cluster.write(refill)
            case .lost: break
            case .late: group.inFlight.append((refill.partition, refill))
            }
            if fate != .confirmed, fate != .twice { isConfirmed = false }
        }
        if !isConfirmed { throw KafkaError(code: .timedOut, isRetriable: true) }
    }

    func commit(_ positions: Positions) throws(KafkaError) {
        try check(.commit)
        guard let membership, group.members.isCurrent(membership) else {
            trace?("commit: refused")
            throw KafkaError(code: .state)
        }
        for (partition, position) in positions {
            group.committed[partition.partition] = flaw == .refillPositionNotHeld ? next[partition] ?? position : position
        }
        trace?("commit: " + positions.map { "\($0.partition)@\($1)" }.sorted().joined(separator: " "))
        if let fault, fault.call == .commit {
            self.fault = nil
            throw KafkaError(code: .timedOut, isRetriable: true)
        }
    }

    func leave() {
        group.members.remove(name)
        (membership, next, hasBegun) = (nil, [:], false)
    }
}

extension SimulatedCluster {
    /// Writes a refill.
    func write(_ refill: Refill) {
        send(
            .restocks, partition: refill.partition, key: Array(refill.store.utf8), value: Array(refill.value),
            timestamp: refill.time)
    }
}
