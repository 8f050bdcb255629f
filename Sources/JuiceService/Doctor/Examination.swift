import Foundation
import JuiceEngine
import JuiceMessages
import Kafka
import Logging

/// Looks at a cluster, and at the service on it, for `juice doctor`. It only reads: it joins no group and has no producer.
///
/// Each part that cannot be seen is an ``Observations/Failure``, and the others are seen all the same. Its calls block the thread
/// that makes them, for about as long as the timeout in all.
package final class Examination {
    private let configuration: ServiceConfiguration
    private let admin: Admin
    private let watch: BrokerWatch
    private let hooks: ClientHooks
    private let timeout: Duration
    private let deadline: ContinuousClock.Instant
    private var seen = Observations(time: .now)

    /// How far the two looks at the partitions are apart at least: long enough to see whether commands are answered.
    private static let pause = Duration.seconds(2)
    /// Where brokers keep groups and transactions: if these cannot be written, no transaction is committed.
    private static let internalTopics = ["__consumer_offsets", "__transaction_state"]

    /// - Parameters:
    ///   - admin: has reached a broker.
    ///   - watch: has learned from it why connections fail.
    ///   - timeout: for all of it.
    package init(configuration: ServiceConfiguration, admin: Admin, watch: BrokerWatch, timeout: Duration, logger: Logger) {
        (self.configuration, self.admin, self.watch, self.timeout) = (configuration, admin, watch, timeout)
        hooks = ClientHooks(logger: logger, logCeiling: .debug)
        deadline = .now + timeout
    }

    private var topics: TopicNames { configuration.topics }
    private var remaining: Duration { max(.zero, deadline - .now) }
    /// How long one part may take, so that time is left for the others.
    private var step: Duration { max(.milliseconds(200), min(remaining, timeout / 4)) }

    /// Looks at everything.
    package func observe() -> Observations {
        if let cluster = lookAtCluster() {
            let stores = lookAtTopics(cluster)
            // Without the journal nothing is known of the partitions, and the missing topic is a finding of its own.
            if cluster[topics.results] != nil, cluster[topics.stock] != nil {
                do throws(KafkaError) { try lookAtPartitions(cluster, stores) } catch { fail("owners and positions", error) }
            }
            // Last, so that a claim is never newer than the assignment. The embedded broker knows no such request.
            if configuration.capabilities.managesTopics {
                seen.group = ask("the group \(configuration.group)") { timeout throws(KafkaError) in
                    try admin.describe(group: configuration.group, timeout: timeout)
                }
            }
        }
        seen.time = .now
        return seen
    }

    /// Asks, and again while the error is one that passes and the part has time left.
    private func ask<Answer>(
        _ part: String, _ question: (_ timeout: Duration) throws(KafkaError) -> Answer
    ) -> Answer? {
        let end = ContinuousClock.now + step
        while true {
            do throws(KafkaError) {
                return try question(max(.milliseconds(200), end - .now))
            } catch {
                guard error.remedy == .retry, .now < end else {
                    fail(part, error)
                    return nil
                }
                Thread.sleep(forTimeInterval: 0.05)
            }
        }
    }

    private func fail(_ part: String, _ error: KafkaError) {
        guard !seen.failures.contains(where: { $0.part == part }) else { return }
        seen.failures.append(.init(part: part, reason: error.description, isDenial: error.code.isDenial))
    }

    // MARK: - Cluster and topics

    private func lookAtCluster() -> TopicCheck.Cluster? {
        let names = topics.all + (configuration.capabilities.managesTopics ? Self.internalTopics : [])
        let metadata = ask("the cluster's description") { timeout throws(KafkaError) in
            try admin.metadata(topics: names, timeout: timeout)
        }
        guard let metadata else { return nil }
        seen.brokers = metadata.brokers.sorted { $0.id < $1.id }.map { .init(id: $0.id, address: $0.address) }
        seen.topics = metadata.topics.filter { $0.error == nil }.map { .init(name: $0.name, partitions: $0.partitions) }
        seen.clusterID = admin.clusterID(timeout: .seconds(1))
        seen.controller = admin.controller(timeout: .seconds(1))
        let answers =
            configuration.capabilities.managesTopics
            ? admin.configurations(ofBrokers: seen.brokers.map(\.id), timeout: step) : [:]
        // Serves the client's hooks: what it reports to the watch says more than a timeout.
        _ = try? admin.metadata(topics: [], timeout: .zero)
        for index in seen.brokers.indices {
            switch answers[seen.brokers[index].id] {
            case .success(let settings): seen.brokers[index].version = settings["inter.broker.protocol.version"]
            // An error from a broker is an answer, too: a right is missing.
            case .failure(let error) where !error.code.isFromBroker:
                let fault = watch.fault.flatMap { $0.broker == seen.brokers[index].address ? $0.message : nil }
                seen.brokers[index].silence = fault ?? (error.code == .timedOut ? "no answer in time" : error.message)
            default: break
            }
        }
        return TopicCheck.Cluster(metadata)
    }

    /// - Returns: how many partitions stores live in; nil if the journal's claims were not asked, so that it is not known what
    ///   belongs where.
    private func lookAtTopics(_ cluster: TopicCheck.Cluster) -> Int32? {
        var cluster = cluster
        let (own, kafkas) = (
            cluster.topics.keys.filter(topics.all.contains), cluster.topics.keys.filter(Self.internalTopics.contains)
        )
        if configuration.capabilities.managesTopics, !own.isEmpty {
            var settings =
                ask("the topics' settings") { timeout throws(KafkaError) in
                    try admin.configurations(ofTopics: own, timeout: timeout)
                } ?? [:]
            // Many have no right to these, and need none.
            if !kafkas.isEmpty, let more = try? admin.configurations(ofTopics: kafkas, timeout: step) {
                settings.merge(more) { $1 }
            }
            for index in seen.topics.indices {
                seen.topics[index].settings = settings[seen.topics[index].name]
                cluster[seen.topics[index].name]?.configuration = settings[seen.topics[index].name]
            }
        }
        let check = TopicCheck(
            names: topics, bootstrapServers: configuration.bootstrapServers, capabilities: configuration.capabilities,
            duplicateWindow: configuration.duplicateWindow)
        let isKnown: Void? = ask("where stores live") { timeout throws(KafkaError) in
            let reader = try Consumer(configuration: configuration.logEndConsumer, hooks: hooks)
            defer { reader.close() }
            try check.lookForStores(reader, timeout: timeout, in: &cluster)
        }
        let findings = check.findings(of: cluster)
        (seen.problems, seen.warnings) = (findings.problems, findings.warnings)
        return isKnown.map { findings.partitions.stores }
    }

    // MARK: - Partitions

    private func lookAtPartitions(_ cluster: TopicCheck.Cluster, _ stores: Int32?) throws(KafkaError) {
        func count(_ topic: Topic) -> Int32 { Int32(clamping: cluster[topics[topic]]?.partitionCount ?? 0) }
        let storeCount = stores ?? count(.stock)
        let inputs = InputAssignment(
            orders: Array(0..<storeCount), partitionCount: storeCount, orderCount: count(.orders), restockCount: count(.restocks))
        let settings = WorkerSettings(
            menu: configuration.menu, language: configuration.language, partitionCount: storeCount, group: configuration.group,
            instance: configuration.instanceID, window: configuration.duplicateWindow)
        let silent = Set(seen.brokers.filter { $0.silence != nil }.map(\.id))
        let log = try SurveyLog(configuration: configuration, assignment: inputs, silent: silent, timeout: step, hooks: hooks)

        let first = Inspection(log: log, settings: settings, assignment: inputs)
        if let reason = drive(first, until: { first.isSurveyed }) {
            return seen.failures.append(.init(part: "owners and positions", reason: reason))
        }
        let (before, start, end) = (first.partitions, Date.now, ContinuousClock.now + Self.pause)
        if stores != nil, let reason = drive(first, until: { first.isDone }) { seen.unread = first.unread ?? reason }
        let faults = first.partitions.map(\.fault)

        if end < deadline - .seconds(1) { Thread.sleep(forTimeInterval: max(.zero, end - .now) / .seconds(1)) }
        let second = Inspection(log: log, settings: settings, assignment: inputs)
        let hasTwoLooks = drive(second, until: { second.isSurveyed }) == nil
        if hasTwoLooks { seen.watched = Date.now.timeIntervalSince(start) }
        let after = hasTwoLooks ? second.partitions : before
        // An owner that wrote between two calls of the first look makes it see what never was. Only what stays is reported.
        var confirmed = faults
        if hasTwoLooks, !faults.allSatisfy({ $0 == nil }), drive(second, until: { second.isDone }) == nil {
            confirmed = zip(faults, second.partitions).map { $0 == nil ? nil : $1.fault }
        }
        seen.partitions = zip(zip(before, confirmed), after).map { former, latter in
            var partition = Observations.Partition(number: latter.partition, isServed: latter.extents != nil)
            (partition.group, partition.instance) = (latter.owner?.group, latter.owner?.instance)
            partition.fault = former.1 ?? latter.fault
            partition.inputs = inputs.inputs(of: latter.partition).map {
                Observations.Input($0, topics[$0], latter, before: hasTwoLooks ? former.0 : nil)
            }
            return partition
        }
        lookAtGroupOffsets(log)
        let outputs = [Topic.results, .stock, .deadLetters].flatMap { topic in
            (0..<count(topic)).map { Observations.Input(topics[topic, $0]) }
        }
        try lookAtRecords(log, outputs)
    }

    /// - Returns: why the inspection did not get there; nil if it did.
    private func drive(_ inspection: Inspection<SurveyLog>, until isThere: () -> Bool) -> String? {
        while !isThere() {
            // The rest is for what comes after.
            guard remaining > timeout / 4 else { return "no answer in time" }
            do throws(LogError) {
                try inspection.step()
            } catch {
                guard error.remedy == .retry, remaining > timeout / 4 else { return error.message }
            }
        }
        return nil
    }

    private func updateInputs(_ change: (inout Observations.Input) -> Void) {
        for partition in seen.partitions.indices where seen.partitions[partition].isServed {
            for input in seen.partitions[partition].inputs.indices { change(&seen.partitions[partition].inputs[input]) }
        }
    }

    private func lookAtGroupOffsets(_ log: SurveyLog) {
        let places = seen.inputs.map(\.place)
        let published = ask("the group's offsets") { timeout throws(KafkaError) in
            try log.uncommitted.committed(places, timeout: timeout)
        }
        updateInputs { $0.published = published?[$0.place] ?? nil }
    }

    /// Reads the first record that waits in each input, the first of an undecided transaction, and the last that was answered.
    /// Offsets alone do not show what waits, since transaction markers have some. And Kafka does not report the time on a
    /// broker, so the times of records are all there is to compare.
    ///
    /// - Parameter outputs: partitions of the other topics, of which only undecided transactions matter.
    private func lookAtRecords(_ log: SurveyLog, _ outputs: [Observations.Input]) throws(KafkaError) {
        let committed = try Consumer(configuration: configuration.changelogConsumer, hooks: hooks)
        defer { committed.close() }
        let inputs = seen.inputs
        let ends = ask("where undecided transactions begin") { timeout throws(KafkaError) in
            try committed.endOffsets(of: inputs.map(\.place), timeout: timeout)
        }
        guard let ends else { return }
        updateInputs { $0.decidedEnd = min(ends[$0.place] ?? $0.end, $0.end) }
        lookAtOutputs(outputs, committed, log.uncommitted)

        let waiting = firstRecords(committed, seen.inputs) { min(max($0.next ?? 0, $0.start), $0.decidedEnd)..<$0.decidedEnd }
        let undecided = firstRecords(log.uncommitted, seen.inputs) { $0.decidedEnd..<$0.end }
        let handled = firstRecords(log.uncommitted, seen.inputs) { input in
            guard let last = input.lastHandled, last >= input.start else { return 0..<0 }
            return last..<last + 1
        }
        updateInputs { input in
            (input.firstWaiting, input.firstUndecided) = (waiting[input.place], undecided[input.place])
            if input.firstWaiting != nil { input.waiting = input.decidedEnd - max(input.next ?? 0, input.start) }
            input.lastSent = handled[input.place]?.time
        }
    }

    private func lookAtOutputs(_ outputs: [Observations.Input], _ committed: Consumer, _ uncommitted: Consumer) {
        let places = outputs.map(\.place)
        let ends = ask("where transactions in the results begin") { timeout throws(KafkaError) in
            (try committed.endOffsets(of: places, timeout: timeout), try uncommitted.endOffsets(of: places, timeout: timeout))
        }
        guard let (decided, all) = ends else { return }
        seen.outputs = outputs.map { output in
            var output = output
            (output.decidedEnd, output.end) = (decided[output.place] ?? 0, max(decided[output.place] ?? 0, all[output.place] ?? 0))
            return output
        }.filter { $0.decidedEnd < $0.end }
        let undecided = firstRecords(uncommitted, seen.outputs) { $0.decidedEnd..<$0.end }
        for index in seen.outputs.indices { seen.outputs[index].firstUndecided = undecided[seen.outputs[index].place] }
    }

    private func firstRecords(
        _ consumer: Consumer, _ inputs: [Observations.Input], in range: (Observations.Input) -> Range<Offset>
    ) -> [TopicPartition: Observations.Record] {
        let ranges = inputs.map { input in
            let range = range(input)
            return (input.place, range)
        }
        return ask("the records at hand") { timeout throws(KafkaError) in
            var found: [TopicPartition: Observations.Record] = [:]
            try consumer.read(Dictionary(uniqueKeysWithValues: ranges), timeout: timeout, gaps: .leave) { partition, record in
                let time = record.timestamp.map { Date(timeIntervalSince1970: Double($0) / 1000) } ?? .now
                found[partition] = .init(offset: record.offset, time: time)
                return false
            }
            return found
        } ?? [:]
    }
}

extension Observations.Input {
    /// What two looks at a partition show of one of its inputs.
    fileprivate init(
        _ input: InputPartition, _ place: TopicPartition, _ known: Inspection<SurveyLog>.Partition,
        before: Inspection<SurveyLog>.Partition?
    ) {
        func next(_ known: Inspection<SurveyLog>.Partition) -> Offset? {
            known.positions.first { $0.topic == input.topic && $0.partition == input.partition }?.offset
        }
        self.init(place)
        let log = known.extents?.inputs[input] ?? 0..<0
        (self.next, start, end, decidedEnd) = (next(known), log.lowerBound, log.upperBound, log.upperBound)
        let last = known.lastHandled[input]
        (lastHandled, lastAnswered) = (last?.offset, last?.at.map { Date(timeIntervalSince1970: Double($0) / 1000) })
        formerEnd = before?.extents?.inputs[input]?.upperBound
        if let before = before.flatMap(next), let next = self.next { handled = next - before }
    }
}
