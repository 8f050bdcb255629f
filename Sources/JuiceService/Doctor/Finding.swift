import Foundation
import JuiceDomain
import JuiceEngine
import JuiceMessages
import Kafka

/// Something that an operator should know, and what to do about it.
package struct Finding: Sendable, Encodable {
    /// How bad it is, as the exit status of `juice doctor`.
    package enum Severity: Int32, Sendable, Encodable {
        /// Nothing fails, but something could be better.
        case notice = 0
        /// Something is late, or about to fail.
        case warning = 1
        /// Brokers do not serve some or all partitions.
        case unavailable = 69
        /// An operator has to correct topics, settings or a stopped partition.
        case stopped = 78

        package var word: String { self == .notice ? "notice" : self == .warning ? "warning" : "critical" }

        package func encode(to encoder: any Encoder) throws { try word.encode(to: encoder) }
    }

    package let severity: Severity
    /// One sentence.
    package let fault: String
    /// A command, or a sentence that says where to look.
    package let fix: String
}

extension Examination {
    /// What follows from the examination: the worst first and, within a severity, causes before consequences.
    ///
    /// - Parameter configuration: for the commands in the findings.
    package func findings(_ configuration: ServiceConfiguration) -> [Finding] {
        var found = Diagnosis(seen: self, configuration: configuration)
        if let outage {
            found.add(
                .unavailable, outage, fix: "look at what the reason names. Services go on by themselves once a broker answers")
            return found.findings
        }
        found.lookAtBrokers()
        for problem in problems { found.add(.stopped, problem.fault, fix: problem.fix) }
        for warning in warnings { found.add(.notice, warning.fault, fix: warning.fix) }
        found.lookAtPartitions()
        if let group, !configuration.isRehearsal { found.look(at: group) }
        found.lookAtWaitingCommands()
        for isDenial in [true, false] {
            let failures = failures.filter { $0.isDenial == isDenial }.map { "\($0.part) (\($0.reason))" }
            guard !failures.isEmpty else { continue }
            found.add(
                .warning, "not known: \(failures.joined(separator: ", "))",
                fix: isDenial ? "the rights that it needs are in docs/SECURITY.md" : "look again, or longer with --timeout 60s")
        }
        // Stable within a severity.
        return found.findings.enumerated().sorted {
            ($1.element.severity.rawValue, $0.offset) < ($0.element.severity.rawValue, $1.offset)
        }.map(\.element)
    }
}

/// Derives findings from an examination.
private struct Diagnosis {
    let seen: Examination
    let configuration: ServiceConfiguration
    var findings: [Finding] = []

    /// How long a command may wait, in seconds, before an operator should look (a rebalance takes less), and how long if its
    /// partition answers nothing meanwhile.
    private static let (patience, patienceAtRest): (TimeInterval, TimeInterval) = (10, 2)
    /// From this age on, in seconds, an open transaction counts as stuck: the service's own end after 10 s.
    private static let longestTransaction: TimeInterval = 15

    mutating func add(_ severity: Finding.Severity, _ fault: String, fix: String) {
        findings.append(Finding(severity: severity, fault: fault, fix: fix))
    }

    // MARK: - Brokers

    mutating func lookAtBrokers() {
        let alive = Set(seen.brokers.map(\.id))
        let copies = seen.topics.flatMap { topic in topic.partitions.map { (topic: topic, partition: $0) } }
        func names(where isMeant: ((topic: ClusterMetadata.Topic, partition: ClusterMetadata.Partition)) -> Bool) -> String? {
            let meant = copies.filter(isMeant)
            return meant.isEmpty ? nil : short(meant.map { "\($0.topic.name) [\($0.partition.number)]" })
        }
        let lost = Set(copies.flatMap(\.partition.replicas)).subtracting(alive).sorted()
        let fix = lost.isEmpty ? "look at the brokers' logs" : "start \(list("broker", lost)) again"
        for topic in seen.missingTopics {
            add(
                .unavailable,
                "brokers have not created \(topic.rawValue), in which they keep \(topic), so no command is answered. They wait for as"
                    + " many brokers as \(topic.replicationFactor) says; there \(alive.count == 1 ? "is" : "are") \(alive.count)",
                fix: "start more brokers, or lower that setting of all brokers and restart them")
        }
        if let names = names(where: { $0.partition.leader == nil }) {
            add(.unavailable, "no leader, so nothing is read or written: \(names)", fix: fix)
        }
        let unwritable = names { topic, partition in
            // Since Kafka 3.7 a setting above the number of replicas counts as that number (KAFKA-15583).
            let least = min(topic.number("min.insync.replicas") ?? 1, partition.replicas.count)
            return partition.leader != nil && partition.inSyncReplicas.count < least
        }
        if let unwritable {
            add(.unavailable, "fewer in-sync replicas than min.insync.replicas, so nothing is written: \(unwritable)", fix: fix)
        }
        if !lost.isEmpty {
            add(
                .warning, "topics have copies on \(list("broker", lost)), but the cluster does not count that as alive",
                fix: "start \(list("broker", lost)) again, under the same id; until then copies are missing")
        }
        for broker in seen.brokers {
            guard let silence = seen.silence[broker.address] else { continue }
            let led = names { $0.partition.leader == broker.id }
            add(
                led == nil ? .warning : .unavailable,
                "broker \(broker.id) at \(broker.address) does not answer this machine (\(silence))"
                    + (led.map { "; nothing is read or written of what it leads: \($0)" } ?? ""),
                fix: "look at that broker, and at name resolution and network from here to \(broker.address)")
        }
        let behind = names {
            alive.isSuperset(of: $0.partition.replicas) && $0.partition.inSyncReplicas.count < $0.partition.replicas.count
        }
        if let behind {
            add(
                .warning, "copies that are not in sync: \(behind)",
                fix: "wait if a broker has just started; otherwise look at the brokers' disks and network")
        }
    }

    // MARK: - Partitions and members

    mutating func lookAtPartitions() {
        for partition in seen.partitions {
            guard let fault = partition.fault else { continue }
            // Reported already: its partition has no leader, or its topic is gone.
            if case .leader = fault.kind { continue }
            if fault.kind == .answers, let owner = owner(of: partition) {
                add(
                    .stopped, "only \(owner) knows what was answered in partition \(partition.number): \(fault.reason)",
                    fix: "do not restart \(owner), and start no other instance, before the time that its log and its /health/ready"
                        + " name. Find out what deleted answers: is retention.bytes or retention.ms of"
                        + " \(configuration.topics.results) too small?")
                continue
            }
            add(
                .stopped, "partition \(partition.number) is stopped: \(fault.reason)",
                fix: configuration.fix(fault, of: partition.number))
        }
        let claims = Dictionary(grouping: seen.partitions.filter { $0.group != nil }) { $0.group ?? "" }
        for (group, partitions) in claims.sorted(by: { $0.key < $1.key }) where group != configuration.group {
            let instances = Set(partitions.compactMap(\.instance)).sorted().joined(separator: ", ")
            let isLive = seen.otherGroups[group]?.reads(configuration.topics.orders) ?? false
            add(
                isLive ? .stopped : .warning,
                "the group \"\(group)\" (instance \(instances)), not \"\(configuration.group)\", was the last to claim"
                    + " \(list("partition", partitions.map(\.number)))" + (isLive ? ", and its instances run" : ""),
                fix: seen.group?.members.isEmpty ?? true
                    ? "look at that group: add --group \(group)"
                    : "stop the instances of the group that does not belong there: only one may serve these topics")
        }
        if let unread = seen.unread {
            add(
                .warning, "stock and answers are not checked to the end: \(unread)",
                fix: "look again, with --timeout 60s. If it stays, another program's transaction may be open:"
                    + " \(kafkaCommand("transactions", configuration.bootstrapServers, "list"))")
        }
    }

    /// The running instance that serves a partition.
    private func owner(of partition: Examination.Partition) -> String? {
        let group = partition.group == configuration.group ? seen.group : partition.group.flatMap { seen.otherGroups[$0] }
        let place = TopicPartition(topic: configuration.topics.orders, partition: partition.number)
        return group?.members.first { $0.instance == partition.instance && $0.partitions.contains(place) }?.instance
    }

    mutating func look(at group: ConsumerGroup) {
        let name = "the group \"\(configuration.group)\""
        guard !group.members.isEmpty else {
            let waiting = seen.inputs.reduce(0) { $0 + $1.waiting }
            return add(
                .warning,
                "\(name) has no members, so no command is answered" + (waiting > 0 ? " (at most \(waiting) wait)" : ""),
                fix: "start the instances again under their ids; the last lines of their logs say why they ended")
        }
        for other in group.members where other.instanceID == nil {
            add(
                .warning,
                "\(other.clientID) at \(other.host) is in \(name), but is no instance of the service, and keeps partitions"
                    + " from those that are", fix: "stop that program, or give it another group")
        }
        guard group.state == "Stable" else {
            return add(
                .warning, "\(name) is sharing out its partitions (\(group.state))",
                fix: "look again in 20 s. If it stays, an instance comes and goes or hangs: see the instances' logs")
        }
        var readers: [Int32: ConsumerGroup.Member] = [:]
        for member in group.members {
            for place in member.partitions where place.topic == configuration.topics.orders { readers[place.partition] = member }
        }
        let unread = seen.partitions.map(\.number).filter { readers[$0] == nil }
        if !unread.isEmpty {
            add(
                .warning, "no member was assigned \(list("partition", unread))",
                fix: "look again in 20 s. If it stays, restart an instance, so that the group shares out its partitions again")
        }
        let late = seen.partitions.filter { partition in
            let isOwn = partition.group ?? configuration.group == configuration.group
            return readers[partition.number].map {
                $0.instanceID != nil && partition.isServed && partition.fault == nil && isOwn && partition.instance != $0.instance
            } ?? false
        }
        let lateByReader = Dictionary(grouping: late) { readers[$0.number]?.instance ?? "" }
        for (reader, partitions) in lateByReader.sorted(by: { $0.key < $1.key }) {
            add(
                .warning, "\(reader) was assigned \(list("partition", partitions.map(\.number))), but has not taken that over",
                fix: "look again in 20 s. If it stays: what does /health/ready of \(reader) say, and the end of its log?")
        }
    }

    // MARK: - Commands that wait

    mutating func lookAtWaitingCommands() {
        let inputs = seen.partitions.filter { $0.fault == nil && $0.isServed }.flatMap(\.inputs)
        func waits(_ input: Examination.Input, for seconds: TimeInterval) -> Bool {
            // A timestamp in the future does not show how long the command has waited.
            input.waitingSince.map { abs(seen.time.timeIntervalSince($0)) >= seconds } ?? false
        }
        let late = inputs.filter { waits($0, for: $0.handled == 0 ? Self.patienceAtRest : Self.patience) }
        let shown = late.isEmpty ? inputs.filter { $0.handled == 0 && waits($0, for: 1) } : late
        // The commands of an unread or stopped partition wait anyway.
        if !(seen.group?.members.isEmpty ?? false), let oldest = shown.compactMap(\.waitingSince).min() {
            let places = Set(shown.map(\.place))
            let owners = Set(seen.partitions.filter { !places.isDisjoint(with: $0.inputs.map(\.place)) }.compactMap(\.instance))
            add(
                late.isEmpty ? .notice : .warning,
                "commands wait in \(short(shown.map(\.place.description))) (\(shown.reduce(0) { $0 + $1.waiting }) at most), the first"
                    + " for \(spanText(seen.time.timeIntervalSince(oldest)))"
                    + (shown.contains { $0.handled == 0 } ? ", and none was answered within a second" : ""),
                fix: "look again in some seconds. If fewer wait, but too long, add workers or instances. Otherwise the owner"
                    + " (\(short(owners.sorted()))) may be stopped or frozen, and a member of the group for 15 s more: what do its"
                    + " /health/ready and its log say?")
        }
        for input in inputs.filter({ $0.next ?? 0 >= $0.decidedEnd }) + seen.outputs {
            guard let since = input.undecidedSince, seen.time.timeIntervalSince(since) > Self.longestTransaction else {
                continue
            }
            add(
                .warning,
                "another program's transaction is open in \(input.place) from offset \(input.decidedEnd) on, for"
                    + " \(spanText(seen.time.timeIntervalSince(since))), and later records wait",
                fix: configuration.abortCommand(input.place, from: input.decidedEnd))
        }
    }
}

/// The first few of a list, and how many more there are.
private func short(_ items: [String]) -> String {
    let most = 6
    return items.prefix(most).joined(separator: ", ") + (items.count > most ? " and \(items.count - most) more" : "")
}

/// The noun, in the plural if there are several items, and the items.
func list(_ noun: String, _ items: [some CustomStringConvertible]) -> String {
    "\(noun)\(items.count > 1 ? "s" : "") \(short(items.map(\.description)))"
}

extension ConsumerGroup.Member {
    /// The name of the service's instance, which has a member for each worker: `juice-1-0`, `juice-1-1`.
    package var instance: String {
        guard let instanceID, let end = instanceID.lastIndex(of: "-") else { return instanceID ?? clientID }
        return String(instanceID[..<end])
    }
}

/// A time span in whole units: `90 s`, `45 min`, `26 h`, `12 days`.
package func spanText(_ seconds: TimeInterval) -> String {
    let units: [(most: TimeInterval, unit: TimeInterval, name: String)] = [
        (119.5, 1, "s"), (7_170, 60, "min"), (171_000, 3_600, "h"),
    ]
    let (_, unit, name) = units.first { seconds < $0.most } ?? (0, 86_400, "days")
    return "\(Int((max(0, seconds) / unit).rounded())) \(name)"
}
