import JuiceEngine
import JuiceMessages
import Kafka

/// Something that an operator should know, and what to do about it.
package struct Finding: Sendable, Equatable {
    /// How bad it is, as the exit status of `juice doctor`.
    package enum Severity: Int32, Sendable {
        /// Nothing fails, but something could be better.
        case notice = 0
        /// Something is late, or about to fail.
        case warning = 1
        /// Brokers do not serve some or all partitions.
        case unavailable = 69
        /// Somebody has to put topics, settings or a stopped partition right.
        case stopped = 78

        /// For people.
        package var word: String {
            switch self {
            case .notice: "notice"
            case .warning: "warning"
            case .unavailable, .stopped: "critical"
            }
        }
    }

    package let severity: Severity
    /// One sentence.
    package let fault: String
    /// A command, or a sentence that says where to look.
    package let mend: String

    package init(_ severity: Severity, _ fault: String, mend: String) {
        (self.severity, self.fault, self.mend) = (severity, fault, mend)
    }
}

extension Observations {
    /// What follows from what was seen: the worst first, and of the same kind what explains the others first.
    ///
    /// - Parameter configuration: for the commands in the findings.
    package func findings(_ configuration: ServiceConfiguration) -> [Finding] {
        if let outage { return [Finding(.unavailable, outage, mend: "docs/OPERATIONS.md#juicekafkaunreachable")] }
        let service = ServiceFindings(seen: self, configuration: configuration)
        let findings =
            brokerFindings + topicFindings + service.findings
            + ClockFindings(seen: self, topics: configuration.topics).findings
            + failures.map { failure in
                let isDenied = "the rights that it needs are in docs/SECURITY.md"
                return Finding(
                    .warning, "\(failure.part): not known: \(failure.reason)",
                    mend: failure.isDenial ? isDenied : "look again, or longer with --timeout 60s")
            }
        // Stable within a severity.
        return findings.enumerated().sorted {
            ($1.element.severity.rawValue, $0.offset) < ($0.element.severity.rawValue, $1.offset)
        }
        .map(\.element)
    }

    // MARK: - Brokers

    private var brokerFindings: [Finding] {
        let alive = Set(brokers.map(\.id))
        let copies = topics.flatMap { topic in topic.partitions.map { (topic: topic, partition: $0) } }
        let lost = Set(copies.flatMap(\.partition.replicas)).subtracting(alive).sorted()
        let leaderless = copies.filter { $0.partition.leader == nil }
        let unwritable = copies.filter { copy in
            let least = copy.topic.settings?["min.insync.replicas"].flatMap(Int.init) ?? 1
            return copy.partition.leader != nil && copy.partition.inSyncReplicas.count < least
        }
        let behind = copies.filter { copy in
            alive.isSuperset(of: copy.partition.replicas) && copy.partition.inSyncReplicas.count < copy.partition.replicas.count
        }
        func list(_ copies: [(topic: Topic, partition: ClusterMetadata.Partition)]) -> String {
            shortList(copies.map { "\($0.topic.name) [\($0.partition.number)]" })
        }
        var findings: [Finding] = []
        if !leaderless.isEmpty {
            findings.append(
                Finding(
                    .unavailable, "no leader, so nothing is read or written: \(list(leaderless))",
                    mend: lost.isEmpty ? "look at the brokers' logs" : "start \(brokerNames(lost)) again"))
        }
        if !unwritable.isEmpty {
            findings.append(
                Finding(
                    .unavailable, "fewer in-sync replicas than min.insync.replicas, so nothing can be written: \(list(unwritable))",
                    mend: lost.isEmpty ? "look at the brokers' logs" : "start \(brokerNames(lost)) again"))
        }
        if !lost.isEmpty {
            findings.append(
                Finding(
                    .warning,
                    "\(brokerNames(lost)) \(lost.count == 1 ? "is" : "are") gone: the cluster does not count"
                        + " \(lost.count == 1 ? "it" : "them") as alive, but topics have copies there",
                    mend: "start \(lost.count == 1 ? "it" : "them") again, under the same id; until then copies are missing"))
        }
        for broker in brokers {
            guard let silence = broker.silence else { continue }
            let led = copies.filter { $0.partition.leader == broker.id }
            let consequence = led.isEmpty ? "" : "; nothing is read or written of what it leads: \(list(led))"
            findings.append(
                Finding(
                    led.isEmpty ? .warning : .unavailable,
                    "broker \(broker.id) at \(broker.address) does not answer this machine (\(silence))\(consequence)",
                    mend: "look at that broker, and at name resolution and network from here to \(broker.address)"))
        }
        if !behind.isEmpty {
            findings.append(
                Finding(
                    .warning, "copies that are not in sync: \(list(behind))",
                    mend: "wait if a broker has just started; otherwise look at the brokers' disks and network"))
        }
        return findings
    }

    private func brokerNames(_ ids: [Int32]) -> String {
        (ids.count == 1 ? "broker " : "brokers ") + ids.map(String.init).joined(separator: ", ")
    }

    private var topicFindings: [Finding] {
        (topicCheck?.problems ?? []).map { Finding(.stopped, $0.fault, mend: $0.mend) }
            + (topicCheck?.warnings ?? []).map { Finding(.notice, $0.fault, mend: $0.mend) }
    }
}

/// Judges the timestamps of records. Kafka tells nobody the time on a broker, so they are all there is to compare.
private struct ClockFindings {
    let seen: Observations
    let topics: TopicNames

    /// How far clocks may differ, in milliseconds. Records say nothing more exact.
    private static let tolerance: Timestamp = 60_000
    /// How long ago, by the later clock, an answer may be to tell of the clocks of now, and not of an outage.
    private static let recent: Timestamp = 600_000
    private static let mend =
        "compare `date -u` on the machines, and look at their time synchronisation; repeats and latencies depend on it"

    var findings: [Finding] {
        [Topic.orders, .restocks, .results].flatMap { topic in
            let stamps = seen.stamps.filter { $0.place.topic == topics[topic] }
            // What the answers say of a sender's clock is said by the newest records again.
            if let answered = InputTopic.allCases.first(where: { $0.topic == topic }).flatMap(fromAnswers) { return [answered] }
            return [ahead(stamps), behind(stamps)].compactMap(\.self)
        }
    }

    /// What the timestamps of commands say, next to those of their answers.
    private func fromAnswers(of topic: InputTopic) -> Finding? {
        // If another log stands where the answered one was, these are other commands.
        let inputs = seen.partitions.filter { $0.fault == nil }.flatMap(\.inputs)
        let answered = inputs.compactMap { input -> (input: Observations.Input, delay: Timestamp)? in
            guard input.input.topic == topic, let last = input.lastHandled, let sent = last.sentAt, let answer = last.answeredAt
            else { return nil }
            return max(sent, answer) > seen.time - Self.recent ? (input, answer - sent) : nil
        }
        func command(_ input: Observations.Input) -> String {
            "the command in \(topics[topic]) [\(input.input.partition)] at offset \(input.lastHandled?.offset ?? 0)"
        }
        if let worst = answered.min(by: { $0.delay < $1.delay }), worst.delay < -Self.tolerance {
            return Finding(
                .warning,
                "\(command(worst.input)) is stamped \(spanText(-worst.delay)) after its answer: its sender's clock is"
                    + " ahead, or the service's is behind", mend: Self.mend)
        }
        guard let worst = answered.max(by: { $0.delay < $1.delay }), worst.delay > Self.tolerance else { return nil }
        return Finding(
            .warning,
            "\(command(worst.input)) is stamped \(spanText(worst.delay)) before its answer: it waited that long, or its"
                + " sender's clock is behind", mend: "if nothing waited, \(Self.mend)")
    }

    private func ahead(_ stamps: [Observations.Stamp]) -> Finding? {
        guard let worst = stamps.max(by: { $0.at < $1.at }), worst.at - seen.time > Self.tolerance else { return nil }
        return Finding(
            .warning,
            "\(record(worst)) is stamped \(spanText(worst.at - seen.time)) in the future of this machine:"
                + " \(worst.clock) clock is ahead, or this machine's is behind", mend: Self.mend)
    }

    private func behind(_ stamps: [Observations.Stamp]) -> Finding? {
        let measured = stamps.compactMap { stamp in stamp.written.map { (stamp: stamp, by: $0.lowerBound - stamp.at) } }
        guard let worst = measured.max(by: { $0.by < $1.by }), worst.by > Self.tolerance else { return nil }
        return Finding(
            .warning,
            "\(record(worst.stamp)) was written just now, but is stamped \(spanText(worst.by)) before:"
                + " \(worst.stamp.clock) clock is behind, or this machine's is ahead", mend: Self.mend)
    }

    private func record(_ stamp: Observations.Stamp) -> String {
        "the record in \(stamp.place.topic) [\(stamp.place.partition)] at offset \(stamp.offset)"
    }
}

/// The first few of a list, and how many more there are.
private func shortList(_ items: [String]) -> String {
    let most = 6
    return items.prefix(most).joined(separator: ", ") + (items.count > most ? " and \(items.count - most) more" : "")
}

/// Judges the group, the owners and the commands that wait.
private struct ServiceFindings {
    let seen: Observations
    let configuration: ServiceConfiguration

    /// How long a command may wait, in milliseconds, before somebody should look: less is a rebalance.
    private static let patience: Timestamp = 10_000
    /// After how long a program's open transaction is taken for a stuck one: the service's own end after 10 s.
    private static let longestTransaction: Timestamp = 15_000

    var findings: [Finding] { stopped + foreign + members + waiting + unfinished }

    // MARK: - Partitions

    private var stopped: [Finding] {
        seen.partitions.compactMap { partition in
            guard let fault = partition.fault else { return nil }
            // It is among those without a leader, unless its topic is gone.
            if case .leader = fault.kind { return nil }
            return Finding(
                .stopped, "partition \(partition.number) is stopped: \(fault.reason)",
                mend: configuration.mend(fault))
        }
    }

    /// Partitions that another group has claimed last.
    private var foreign: [Finding] {
        let claims = seen.partitions.filter { $0.owner.map { $0.group != configuration.group } ?? false }
        return Set(claims.compactMap(\.owner?.group)).sorted().map { group in
            let numbers = claims.filter { $0.owner?.group == group }.map(\.number)
            let instances = Set(claims.filter { $0.owner?.group == group }.compactMap(\.owner?.instance)).sorted()
            let isOurs = seen.group?.members.isEmpty ?? true
            return Finding(
                .stopped,
                "\(partitions(numbers)) \(numbers.count == 1 ? "was" : "were") claimed last by the group \"\(group)\""
                    + " (instance \(instances.joined(separator: ", "))), not by \"\(configuration.group)\"",
                mend: isOurs
                    ? "look at that group: add --group \(group)"
                    : "stop the group that does not belong there: docs/OPERATIONS.md#two-groups-on-the-same-topics")
        }
    }

    private var unfinished: [Finding] {
        guard let unread = seen.unread else { return [] }
        return [
            Finding(
                .warning, "stock and answers are not checked to the end: \(unread)",
                mend: "look again, with --timeout 60s. If it stays, a transaction is open: docs/OPERATIONS.md#a-stuck-transaction")
        ]
    }

    // MARK: - Members

    private var members: [Finding] {
        guard let group = seen.group else { return [] }
        guard !group.members.isEmpty else {
            let waiting = seen.inputs.reduce(0) { $0 + $1.waiting }
            return [
                Finding(
                    .warning,
                    "nobody is in the group \"\(configuration.group)\", so no command is answered"
                        + (waiting > 0 ? "; \(waiting == 1 ? "one waits" : "up to \(waiting) wait")" : ""),
                    mend: "start the instances again under their ids; the last lines of their logs say why they ended:"
                        + " docs/OPERATIONS.md#juicenoneready")
            ]
        }
        guard group.isStable else {
            return [
                Finding(
                    .warning, "the group \"\(configuration.group)\" is sharing out its partitions (\(group.state))",
                    mend: "look again in 20 s. If it stays, an instance comes and goes or hangs: see the instances' logs")
            ]
        }
        return assignments(group)
    }

    /// What the assignment and the claims say of each other.
    private func assignments(_ group: ConsumerGroup) -> [Finding] {
        var readers: [Int32: String] = [:]
        for member in group.members {
            for place in member.partitions where place.topic == configuration.topics.orders {
                readers[place.partition] = member.instance
            }
        }
        let numbers = seen.partitions.map(\.number)
        let unread = numbers.filter { readers[$0] == nil }
        var findings: [Finding] = []
        if !unread.isEmpty {
            findings.append(
                Finding(
                    .warning, "\(partitions(unread)) \(unread.count == 1 ? "is" : "are") assigned to nobody",
                    mend: "docs/OPERATIONS.md#juicepartitionunread"))
        }
        let late = seen.partitions.filter { partition in
            guard let reader = readers[partition.number], partition.fault == nil else { return false }
            return partition.owner.map { $0.group == configuration.group && $0.instance != reader } ?? true
        }
        for reader in Set(late.compactMap { readers[$0.number] }).sorted() {
            let numbers = late.filter { readers[$0.number] == reader }.map(\.number)
            findings.append(
                Finding(
                    .warning,
                    "\(reader) has been assigned \(partitions(numbers)), but has not taken"
                        + " \(numbers.count == 1 ? "it" : "them") over",
                    mend: "look again in 20 s. If it stays: what does /health/ready of \(reader) say, and the end of its log?"))
        }
        return findings
    }

    private func partitions(_ numbers: [Int32]) -> String {
        (numbers.count == 1 ? "partition " : "partitions ") + shortList(numbers.map(String.init))
    }

    // MARK: - Commands that wait

    private var waiting: [Finding] {
        // What nobody reads, or is stopped, waits anyway.
        let isRead = seen.group.map { !$0.members.isEmpty } ?? true
        let inputs = seen.partitions.filter { $0.fault == nil }.flatMap(\.inputs)
        let stuck = inputs.filter { input in
            guard let first = input.firstWaiting, let progress = input.progress, progress.handled == 0 else { return false }
            // What was sent in the future says nothing of how long it waits.
            return first.offset < progress.formerEnd && !(0...Self.patience).contains(seen.time - first.sentAt)
        }
        let growing = inputs.filter { input in
            guard let progress = input.progress, progress.handled > 0, progress.growth > 0, seen.watched > 0 else { return false }
            // As in the alert JuiceLagGrowing: it takes more than half a minute to work off.
            return input.waiting > progress.handled * 30_000 / seen.watched
        }
        let blocked = inputs.filter { input in
            guard input.firstWaiting == nil, input.decidedEnd < input.log.upperBound else { return false }
            return input.next ?? 0 >= input.decidedEnd && input.progress?.handled == 0 && seen.watched > 0
        }
        return (isRead ? [found(stuck, isGrowing: false), found(growing, isGrowing: true)].compactMap(\.self) : []) + open(blocked)
    }

    private func found(_ inputs: [Observations.Input], isGrowing: Bool) -> Finding? {
        guard let oldest = inputs.compactMap(\.firstWaiting?.sentAt).min() else { return nil }
        let count = inputs.reduce(0) { $0 + $1.waiting }
        let places = shortList(inputs.map { "\(configuration.topics[$0.input.topic]) [\($0.input.partition)]" })
        let text =
            (count == 1 ? "a command waits in \(places)" : "up to \(count) commands wait in \(places), the first")
            + " for \(spanText(seen.time - oldest))"
        return isGrowing
            ? Finding(.warning, "\(text), and more come than are answered", mend: "docs/OPERATIONS.md#juicelaggrowing")
            : Finding(
                .warning, "\(text), and none was answered in the \(spanText(seen.watched)) that this looked",
                mend: "what does the owner's /health/ready say, and the end of its log? docs/OPERATIONS.md#juicepartitionstuck")
    }

    /// Inputs that end in somebody's open transaction.
    private func open(_ inputs: [Observations.Input]) -> [Finding] {
        let old = inputs.filter { input in
            let stamp = seen.stamps.first { $0.place == configuration.topics[input.input] }
            return stamp.map { seen.time - $0.at > Self.longestTransaction } ?? false
        }
        guard let first = old.first else { return [] }
        let name = configuration.topics[first.input.topic]
        return [
            Finding(
                .warning,
                "another program's transaction is open in \(name) [\(first.input.partition)] from offset"
                    + " \(first.decidedEnd) on, and what comes after it waits",
                mend: "docs/OPERATIONS.md#a-stuck-transaction")
        ]
    }
}

extension ConsumerGroup.Member {
    /// The name of the service's instance, which has a member for each worker: `juice-1-0`, `juice-1-1`.
    package var instance: String {
        guard let instanceID, let end = instanceID.lastIndex(of: "-") else { return instanceID ?? clientID }
        return String(instanceID[..<end])
    }
}
