import Foundation
import JuiceEngine
import JuiceMessages
import Kafka
import Logging

/// Looks at a cluster, and at the service on it, for `juice doctor`. It joins no group, and commits nothing.
///
/// Each part that cannot be seen becomes an ``Examination/Failure``, and the others are still seen. Calls block the calling thread,
/// for about as long as the timeout in all.
package final class Examiner {
    private let configuration: ServiceConfiguration
    private let admin: Admin
    private let watch: BrokerWatch
    private let hooks: ClientHooks
    private let timeout: Duration
    private let deadline: ContinuousClock.Instant
    private var seen = Examination(time: .now)

    /// A broker's settings, if it describes them.
    private var settings: [String: String] = [:]

    /// - Parameters:
    ///   - admin: has reached a broker.
    ///   - watch: has learned from `admin` why connections fail.
    ///   - timeout: for the whole examination.
    package init(
        configuration: ServiceConfiguration, admin: Admin, watch: BrokerWatch, timeout: Duration, logger: Logger
    ) {
        (self.configuration, self.admin, self.watch, self.timeout) = (configuration, admin, watch, timeout)
        hooks = ClientHooks(logger: logger, logCeiling: .debug)
        deadline = .now + timeout
    }

    private var topics: TopicNames { configuration.topics }
    private var remaining: Duration { max(.zero, deadline - .now) }
    /// How long one part may take, so that time is left for the others.
    private var step: Duration { max(.milliseconds(200), min(remaining, timeout / 4)) }

    package func examine() -> Examination {
        if let cluster = lookAtCluster() {
            let stores = lookAtTopics(cluster)
            // Without the journal nothing is known of the partitions, and the missing topic is a finding of its own.
            if cluster[topics.results] != nil, cluster[topics.stock] != nil {
                do throws(KafkaError) { try lookAtPartitions(cluster, stores) } catch { fail("owners and positions", error) }
            }
            // Last, so that a claim is never newer than the assignment. The embedded broker knows no such request.
            if configuration.capabilities.managesTopics {
                let groups = Set(seen.partitions.compactMap(\.group) + [configuration.group])
                for group in groups {
                    let description = ask("the group \(group)") { timeout throws(KafkaError) in
                        try admin.describe(group: group, timeout: timeout)
                    }
                    if group == configuration.group { seen.group = description } else { seen.otherGroups[group] = description }
                }
            }
            let (members, brokers) = (seen.group?.members.count ?? 0, seen.brokers.count)
            seen.missingTopics.removeAll { topic in
                members == 0 && settings[topic.replicationFactor].flatMap(Int.init) ?? 1 <= brokers
            }
            if configuration.isRehearsal, topics.all.allSatisfy({ cluster[$0] != nil }) { tryToWrite() }
            seen.problems += seen.proof.problems
            if configuration.capabilities.managesTopics {
                let proven: BrokerProof.Proven = seen.partitions.contains { $0.group != nil } ? .before : .untried
                seen.proof = BrokerProof.Property.allCases.map { property in
                    seen.proof.first { $0.property == property } ?? BrokerProof(property, proven)
                }
            }
        }
        seen.time = .now
        return seen
    }

    /// Asks, and repeats the question while the error may pass and the part has time left.
    private func ask<Answer>(
        _ part: String, _ question: (_ timeout: Duration) throws(KafkaError) -> Answer
    ) -> Answer? {
        do throws(KafkaError) {
            return try retrying(until: .now + step) { left throws(KafkaError) in
                try question(max(.milliseconds(200), left))
            }
        } catch {
            fail(part, error)
            return nil
        }
    }

    private func fail(_ part: String, _ error: KafkaError) {
        guard !seen.failures.contains(where: { $0.part == part }) else { return }
        seen.failures.append(.init(part: part, reason: error.description, isDenial: error.code.isDenial))
    }

    // MARK: - Cluster and topics

    private func lookAtCluster() -> ClusterMetadata? {
        let names =
            topics.all + (configuration.capabilities.managesTopics ? Examination.InternalTopic.allCases.map(\.rawValue) : [])
        let metadata = ask("the cluster's description") { timeout throws(KafkaError) in
            try admin.metadata(topics: names, timeout: timeout)
        }
        guard let metadata else { return nil }
        seen.see(metadata)
        guard configuration.capabilities.managesTopics else { return metadata }
        let end = ContinuousClock.now + step
        for broker in seen.brokers {
            do throws(KafkaError) {
                settings = try admin.configuration(ofBroker: broker.id, timeout: max(.milliseconds(500), end - .now))
            } catch {
                // An error from a broker is an answer, too: a right is missing.
                guard !error.code.isFromBroker else { continue }
                // Serves the client's hooks: what it reports to the watch says more than a timeout.
                _ = try? admin.metadata(topics: [], timeout: .zero)
                let fault = watch.fault.flatMap { $0.broker == broker.address ? $0.message : nil }
                seen.silence[broker.address] = fault ?? (error.code == .timedOut ? "no answer in time" : error.message)
            }
        }
        return metadata
    }

    /// - Returns: the number of partitions that hold stores; nil if no answer came, so that it is unknown what belongs where.
    private func lookAtTopics(_ metadata: ClusterMetadata) -> Int32? {
        var cluster = TopicCheck.Cluster(metadata: metadata)
        let own = topics.all.filter { cluster[$0] != nil }
        if configuration.capabilities.managesTopics, !own.isEmpty {
            let settings = ask("the topics' settings") { timeout throws(KafkaError) in
                try admin.configurations(ofTopics: own, timeout: timeout)
            }
            cluster.metadata.add(settings: settings ?? [:])
            cluster.metadata.addInternalSettings(admin, timeout: step)
            seen.topics = cluster.metadata.topics.filter { $0.error == nil }
            if settings != nil { seen.proof = [.settings(of: seen.topics.filter { own.contains($0.name) })] }
        }
        let check = configuration.topicCheck
        let isKnown: Void? = ask("where stores live") { timeout throws(KafkaError) in
            let reader = try Consumer(configuration: configuration.logEndConsumer, hooks: hooks)
            defer { reader.close() }
            try check.lookForStores(reader, timeout: timeout, in: &cluster)
        }
        let findings = check.findings(of: cluster)
        (seen.problems, seen.warnings) = (findings.problems, findings.warnings)
        if configuration.createsTopics, own.count < topics.all.count {
            (seen.problems, seen.warnings) = ([], findings.problems)
        }
        return isKnown.map { findings.storePartitions }
    }

    private static let probe = #"{"type":"probe"}"#

    /// Tries what the brokers must be able to do, and then what the service may write: brokers reveal that only to a producer.
    private func tryToWrite() {
        let trial: BrokerTrial
        do throws(KafkaError) {
            trial = try retrying(until: deadline) { left throws(KafkaError) in
                let trial = try BrokerTrial(configuration, hooks: hooks, timeout: left)
                seen.proof = try trial.run() + seen.proof
                return trial
            }
        } catch { return addUnusable(.deadLetters, error, use: "written or read") }
        // Only if aborted records are hidden: a visible one in an input is handled as a command or a dead letter.
        guard seen.proof.allSatisfy({ $0.fault == nil }) else { return }
        for topic in InputTopic.allCases.map(\.topic) {
            do throws(KafkaError) { try trial.write(Self.probe, to: topic) } catch { addUnusable(topic, error) }
        }
        for topic in [Topic.results, .stock] {
            do throws(KafkaError) { try sendTooMuch(to: topic) } catch { addUnusable(topic, error) }
        }
    }

    private func addUnusable(_ topic: Topic, _ error: KafkaError, use: String = "written") {
        let fix = "grant what it needs, or correct the setting"
        seen.problems.append(.init("\(topics[topic]) cannot be \(use): \(error.advised)", fix: fix))
    }

    /// Sends a topic a record larger than it accepts, which leaves nothing behind: brokers check rights before the size.
    ///
    /// An aborted record would do harm. In a new journal it would expire, and a journal that begins after offset 0 without a
    /// position note has lost its beginning. In the stock, an owner would take it for another program's record.
    private func sendTooMuch(to topic: Topic) throws(KafkaError) {
        let limit = seen.topics.first { $0.name == topics[topic] }?.number("max.message.bytes")
        guard let limit, limit < 16 << 20 else { return }
        let text = Array(Self.probe.utf8) + [UInt8](repeating: UInt8(ascii: " "), count: limit)
        let producer = try Producer(configuration: configuration.producer.merging(["compression.type": "none"]), hooks: hooks)
        do throws(KafkaError) {
            // If it is accepted after all, it is a note of unknown type, or the tombstone of a store that does not exist.
            let (key, value) = topic == .stock ? (text, nil) : (nil, text)
            _ = try producer.send(topic: topics[topic], partition: 0, key: key, value: value, timeout: step)
        } catch {
            guard error.code.isRefusalOfRecord else { throw error }
        }
    }

    // MARK: - Partitions

    private func lookAtPartitions(_ cluster: ClusterMetadata, _ stores: Int32?) throws(KafkaError) {
        func count(_ topic: Topic) -> Int32 { Int32(clamping: cluster[topics[topic]]?.partitionCount ?? 0) }
        let storeCount = stores ?? count(.stock)
        let inputs = InputAssignment(
            orders: Array(0..<storeCount), partitionCount: storeCount, orderCount: count(.orders), restockCount: count(.restocks))
        let settings = configuration.workerSettings(partitionCount: storeCount)
        let log = try LogReader(
            configuration: configuration, assignment: inputs,
            silent: Set(seen.brokers.filter { seen.silence[$0.address] != nil }.map(\.id)),
            timeout: AdaptiveTimeout(shortest: step, longest: step), watch: watch, hooks: hooks)

        let first = Inspection(log: log, settings: settings, assignment: inputs)
        if let reason = drive(first, until: { first.knowsPositions }) {
            return seen.failures.append(.init(part: "owners and positions", reason: reason))
        }
        if stores != nil, let reason = drive(first, until: { first.isDone }) { seen.unread = first.unread ?? reason }
        let alike = StoreID.alike(first.stores).prefix(3).map { $0.prefix(3).map(StoreID.visible).joined(separator: " and ") }
        if !alike.isEmpty {
            let fix = "`juice stores` lists them; correct the sender of the wrong one, which `juice serve --stores` would reject"
            seen.warnings.append(.init("stores whose names look alike: \(alike.joined(separator: "; "))", fix: fix))
        }
        var faults = first.partitions.map(\.fault)
        // If an owner writes between two calls of the first look, that look sees a state that never existed. So only faults that
        // remain are reported. The second look also shows whether waiting commands are handled: an owner that stopped or froze
        // remains a member of its group for some seconds.
        let hasFaults = faults.contains { $0 != nil }
        Thread.sleep(forTimeInterval: min(1, remaining / .seconds(4)))
        let second = Inspection(log: log, settings: settings, assignment: inputs)
        let isSeenTwice = drive(second, until: { second.knowsPositions }) == nil
        if hasFaults, isSeenTwice, drive(second, until: { second.isDone }) == nil {
            faults = zip(faults, second.partitions).map { $0 == nil ? nil : $1.fault }
        }
        let before = first.partitions
        seen.partitions = zip(isSeenTwice ? second.partitions : before, faults).enumerated().map { index, found in
            let (known, fault) = found
            var partition = Examination.Partition(number: known.partition, isServed: known.extents != nil)
            (partition.group, partition.instance) = (known.owner?.group, known.owner?.instance)
            partition.fault = fault ?? known.fault
            partition.inputs = inputs.inputs(of: known.partition).map { place in
                var input = Examination.Input(topics[place])
                let log = known.extents?.inputs[place] ?? 0..<0
                input.next = known.next(of: place)
                if isSeenTwice, let next = input.next { input.handled = next - (before[index].next(of: place) ?? 0) }
                (input.start, input.end, input.decidedEnd) = (log.lowerBound, log.upperBound, log.upperBound)
                input.lastAnswered = known.lastHandled[place]?.at.map { Date(milliseconds: $0) }
                return input
            }
            return partition
        }
        let outputs = [Topic.results, .stock, .deadLetters].flatMap { topic in (0..<count(topic)).map { topics[topic, $0] } }
        lookAtRecords(log, outputs: outputs)
    }

    /// - Returns: why the inspection did not get there; nil if it did.
    private func drive(_ inspection: Inspection<LogReader>, until isThere: () -> Bool) -> String? {
        while !isThere() {
            // Leaves time for the records.
            guard remaining > timeout / 4 else { return "no answer in time" }
            do throws(LogError) {
                try inspection.step()
            } catch {
                guard error.remedy == .retry, remaining > timeout / 4 else { return error.message }
            }
        }
        return nil
    }

    /// Reads the first record that waits in each input, and the first of an undecided transaction. Offsets alone do not show what
    /// waits, since transaction markers have offsets, too. In the outputs only undecided transactions matter.
    private func lookAtRecords(_ log: LogReader, outputs: [TopicPartition]) {
        let ends = ask("where undecided transactions begin") { timeout throws(KafkaError) in
            let reader = try log.committed
            let decided = try reader.endOffsets(of: seen.inputs.map(\.place) + outputs, timeout: timeout)
            return (reader: reader, decided: decided, all: try log.uncommitted.endOffsets(of: outputs, timeout: timeout))
        }
        guard let ends else { return }
        update { $0.decidedEnd = min(ends.decided[$0.place] ?? $0.end, $0.end) }
        seen.outputs = outputs.compactMap { place in
            guard let decided = ends.decided[place], let end = ends.all[place], decided < end else { return nil }
            var output = Examination.Input(place)
            (output.start, output.decidedEnd, output.end) = (decided, decided, end)
            return output
        }
        let waiting = firstTimes(ends.reader) { min(max($0.next ?? 0, $0.start), $0.decidedEnd)..<$0.decidedEnd }
        let undecided = firstTimes(log.uncommitted) { $0.decidedEnd..<$0.end }
        update { input in
            (input.waitingSince, input.undecidedSince) = (waiting[input.place], undecided[input.place])
            if input.waitingSince != nil { input.waiting = input.decidedEnd - max(input.next ?? 0, input.start) }
        }
    }

    private func update(_ change: (inout Examination.Input) -> Void) {
        for partition in seen.partitions.indices where seen.partitions[partition].isServed {
            for input in seen.partitions[partition].inputs.indices { change(&seen.partitions[partition].inputs[input]) }
        }
        for output in seen.outputs.indices { change(&seen.outputs[output]) }
    }

    /// The time of the first record in a range of each input and output.
    private func firstTimes(_ consumer: Consumer, in range: (Examination.Input) -> Range<Offset>) -> [TopicPartition: Date] {
        let ranges = Dictionary(uniqueKeysWithValues: (seen.inputs + seen.outputs).map { ($0.place, range($0)) })
        return ask("the records at hand") { timeout throws(KafkaError) in
            var found: [TopicPartition: Date] = [:]
            try consumer.read(ranges, timeout: timeout, gaps: .leave) { partition, record in
                found[partition] = record.timestamp.map { Date(milliseconds: $0) } ?? .now
                return false
            }
            return found
        } ?? [:]
    }
}
