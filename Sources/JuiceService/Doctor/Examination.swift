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
    private let hooks: ClientHooks
    private let timeout: Duration
    private let deadline: ContinuousClock.Instant
    private var seen = Observations(time: 0)
    /// Whether the journal's claims were asked how many partitions stores live in. The number decides what belongs where.
    private var areStoresKnown = false

    /// How far the two looks at the partitions are apart at least: long enough to see whether commands are answered.
    private static let pause = Duration.seconds(2)
    /// How many of the newest records of a partition are looked at: a few may be markers.
    private static let lastRecords: Offset = 64

    /// - Parameters:
    ///   - admin: has reached a broker.
    ///   - timeout: for all of it.
    package init(configuration: ServiceConfiguration, admin: Admin, timeout: Duration, logger: Logger) {
        (self.configuration, self.admin, self.timeout) = (configuration, admin, timeout)
        hooks = ClientHooks(logger: logger, logCeiling: .debug)
        deadline = .now + timeout
    }

    private var topics: TopicNames { configuration.topics }
    private var now: Timestamp { Timestamp(Date().timeIntervalSince1970 * 1000) }
    private var remaining: Duration { max(.zero, deadline - .now) }
    /// How long one part may take, so that time is left for the others.
    private var share: Duration { max(.milliseconds(200), min(remaining, timeout / 4)) }

    /// Looks at everything.
    package func observe() -> Observations {
        lookAtCluster()
        lookAtTopics()
        lookAtPartitions()
        // Last, so that a claim is never newer than the assignment.
        lookAtGroup()
        seen.time = now
        return seen
    }

    /// Asks, and again while the error is one that passes and the part has time left.
    private func ask<Answer>(
        _ part: String, _ question: (_ timeout: Duration) throws(KafkaError) -> Answer
    ) -> Answer? {
        let end = ContinuousClock.now + share
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
        seen.failures.append(.init(part: part, reason: error.description, isDenial: error.code.isDenial))
    }

    // MARK: - Cluster and topics

    private func lookAtCluster() {
        let metadata = ask("the cluster's description") { timeout throws(KafkaError) in
            try admin.metadata(topics: topics.all, timeout: timeout)
        }
        guard let metadata else { return }
        seen.brokers = metadata.brokers.sorted { $0.id < $1.id }.map { .init(id: $0.id, address: $0.address) }
        seen.topics = metadata.topics.filter { $0.error == nil && $0.partitionCount > 0 }
            .map { .init(name: $0.name, partitions: $0.partitions) }
        seen.clusterID = admin.clusterID(timeout: .seconds(1))
        seen.controller = admin.controller(timeout: .seconds(1))
        guard configuration.capabilities.managesTopics else { return }
        let answers = admin.configurations(ofBrokers: seen.brokers.map(\.id), timeout: share)
        for index in seen.brokers.indices {
            switch answers[seen.brokers[index].id] {
            case .success(let settings): seen.brokers[index].version = settings["inter.broker.protocol.version"]
            case .failure(let error): seen.brokers[index].silence = silence(error)
            case nil: break
            }
        }
    }

    /// Why a broker does not answer; nil if the error is its answer, for example that a right is missing.
    private func silence(_ error: KafkaError) -> String? {
        error.code.isFromBroker ? nil : error.code == .timedOut ? "no answer in time" : error.message
    }

    private func lookAtTopics() {
        guard !seen.brokers.isEmpty else { return }
        let check = TopicCheck(
            names: topics, bootstrapServers: configuration.bootstrapServers, capabilities: configuration.capabilities,
            duplicateWindow: configuration.duplicateWindow)
        let cluster = ask("the topics' settings") { timeout throws(KafkaError) in
            let reader = try Consumer(configuration: configuration.logEndConsumer, hooks: hooks)
            defer { reader.close() }
            return try check.cluster(admin, reader: reader, timeout: timeout)
        }
        guard let cluster else {
            // Which topics there are is known all the same.
            var described = TopicCheck.Cluster(topics: [:])
            for topic in seen.topics {
                let replicas = topic.partitions.first?.replicas.count ?? 1
                described[topic.name] = .init(partitionCount: topic.partitions.count, replicationFactor: replicas)
            }
            seen.topicCheck = check.findings(of: described)
            return
        }
        (seen.topicCheck, areStoresKnown) = (check.findings(of: cluster), true)
        for index in seen.topics.indices { seen.topics[index].settings = cluster[seen.topics[index].name]?.configuration }
    }

    // MARK: - Partitions

    private func lookAtPartitions() {
        func count(_ topic: Topic) -> Int32 { Int32(clamping: seen[topic: topics[topic]]?.partitions.count ?? 0) }
        // Without the journal nothing is known, and the missing topic is a finding of its own.
        guard count(.results) > 0, count(.stock) > 0 else { return }
        let stores = seen.topicCheck?.partitions.stores ?? count(.stock)
        let share = InputAssignment(
            orders: Array(0..<stores), partitionCount: stores, orderCount: count(.orders), restockCount: count(.restocks))
        do throws(KafkaError) {
            let silent = seen.brokers.filter { $0.silence != nil }.map(\.id)
            let log = try SurveyLog(
                configuration: configuration, share: share, silent: Set(silent), timeout: self.share, hooks: hooks)
            let committed = try Consumer(configuration: configuration.changelogConsumer, hooks: hooks)
            defer { committed.close() }
            let first = Inspection(log: log, settings: settings(stores), share: share)
            if let reason = drive(first, until: { first.isSurveyed }) {
                return seen.failures.append(.init(part: "owners and positions", reason: reason))
            }
            let (before, start) = (first.partitions, (now, ContinuousClock.now))
            if areStoresKnown, let reason = drive(first, until: { first.isDone }) { seen.unread = first.unread ?? reason }

            let wait = start.1 + Self.pause - .now
            if wait > .zero, wait < remaining - .seconds(1) { Thread.sleep(forTimeInterval: wait / .seconds(1)) }
            let second = Inspection(log: log, settings: settings(stores), share: share)
            let hasTwoLooks = remaining > .zero && drive(second, until: { second.isSurveyed }) == nil
            let faults = Dictionary(uniqueKeysWithValues: first.partitions.map { ($0.partition, $0.fault) })
            let after = hasTwoLooks ? second.partitions : first.partitions
            seen.partitions = after.map { Observations.Partition($0, fault: faults[$0.partition] ?? nil, share: share) }
            let published = ask("the group's offsets") { _ throws(KafkaError) in
                try log.uncommitted.committed(seen.inputs.map { topics[$0.input] }, timeout: self.share)
            }
            update { $0.published = published?[topics[$0.input]] ?? nil }
            lookAtWaiting(committed)
            if hasTwoLooks { compare(with: before, since: start.0) }
            lookAtClocks(log, since: hasTwoLooks ? (start.0, before.compactMap(\.extents)) : nil)
        } catch { fail("owners and positions", error) }
    }

    private func settings(_ partitionCount: Int32) -> WorkerSettings {
        WorkerSettings(
            menu: configuration.menu, language: configuration.language, partitionCount: partitionCount,
            group: configuration.group, instance: configuration.instanceID, window: configuration.duplicateWindow)
    }

    /// - Returns: why the inspection did not get there; nil if it did.
    private func drive(_ inspection: Inspection<SurveyLog>, until isThere: () -> Bool) -> String? {
        while !isThere() {
            do throws(LogError) {
                try inspection.step()
            } catch {
                guard error.remedy == .retry, remaining > timeout / 4 else { return error.message }
            }
            // The rest is for what comes after.
            guard remaining > timeout / 4 else { return isThere() ? nil : "no answer in time" }
        }
        return nil
    }

    private func update(_ change: (inout Observations.Input) -> Void) {
        for partition in seen.partitions.indices {
            for input in seen.partitions[partition].inputs.indices { change(&seen.partitions[partition].inputs[input]) }
        }
    }

    /// Looks for the first command that waits in each input. Offsets alone do not tell: markers of transactions have some.
    private func lookAtWaiting(_ committed: Consumer) {
        let places = seen.inputs.map { topics[$0.input] }
        let found = ask("the commands that wait") { timeout throws(KafkaError) in
            let ends = try committed.endOffsets(of: places, timeout: timeout)
            var ranges: [TopicPartition: Range<Offset>] = [:]
            for input in seen.inputs {
                guard let end = ends[topics[input.input]] else { continue }
                ranges[topics[input.input]] = min(end, max(input.next ?? 0, input.log.lowerBound))..<end
            }
            var waiting: [TopicPartition: (Offset, Timestamp)] = [:]
            try committed.read(ranges, timeout: timeout, skippingDamage: true) { record in
                waiting[TopicPartition(topic: record.topic, partition: record.partition)] = (
                    record.offset, record.timestamp ?? now
                )
                return false
            }
            return (ends, waiting)
        }
        guard let (ends, waiting) = found else { return }
        update { input in
            let place = topics[input.input]
            (input.decidedEnd, input.firstWaiting) = (ends[place] ?? input.log.upperBound, waiting[place])
        }
    }

    private func compare(with before: [Inspection<SurveyLog>.Partition], since start: Timestamp) {
        seen.watched = now - start
        let positions = before.flatMap(\.positions)
        var ends: [InputPartition: Offset] = [:]
        for (input, log) in before.flatMap({ $0.extents?.inputs ?? [:] }) { ends[input] = log.upperBound }
        update { input in
            guard let next = input.next, let end = ends[input.input],
                let former = positions.first(where: { $0.topic == input.input.topic && $0.partition == input.input.partition })
            else { return }
            let handled = next - former.offset
            input.progress = (end, handled, input.log.upperBound - end - handled)
        }
    }

    // MARK: - The group

    private func lookAtGroup() {
        // The embedded broker knows no such request.
        guard !seen.brokers.isEmpty, configuration.capabilities.managesTopics else { return }
        seen.group = ask("the group \(configuration.group)") { timeout throws(KafkaError) in
            try admin.describe(group: configuration.group, timeout: timeout)
        }
    }

    // MARK: - Clocks

    /// Reads the newest records, and the commands that were answered last, for their timestamps. Kafka tells nobody the time on a
    /// broker, so records are all there is to compare.
    ///
    /// - Parameter before: when the partitions were looked at first, and how long their logs were then.
    private func lookAtClocks(_ log: SurveyLog, since before: (time: Timestamp, extents: [PartitionExtents])?) {
        var former: [TopicPartition: Offset] = [:]
        for extents in before?.extents ?? [] {
            former[topics[.results, extents.partition]] = extents.results.upperBound
            for (input, range) in extents.inputs { former[topics[input]] = range.upperBound }
        }
        let places =
            seen.partitions.filter(\.isServed).map { topics[.results, $0.number] } + seen.inputs.map { topics[$0.input] }
        var newest: [TopicPartition: (offset: Offset, at: Timestamp)] = [:]
        var sent: [TopicPartition: Timestamp] = [:]
        let done: Void? = ask("the clocks") { timeout throws(KafkaError) in
            let logs = try log.uncommitted.watermarks(of: places, timeout: timeout)
            try log.uncommitted.read(
                logs.mapValues { $0.suffix(Int(Self.lastRecords)) }, timeout: timeout, skippingDamage: true
            ) { record in
                guard let time = record.timestamp else { return true }
                newest[TopicPartition(topic: record.topic, partition: record.partition)] = (record.offset, time)
                return true
            }
            var answered: [TopicPartition: Range<Offset>] = [:]
            for input in seen.inputs {
                guard let last = input.lastHandled, logs[topics[input.input]]?.contains(last.offset) ?? false else { continue }
                answered[topics[input.input]] = last.offset..<last.offset + 1
            }
            try log.uncommitted.read(answered, timeout: timeout, skippingDamage: true) { record in
                sent[TopicPartition(topic: record.topic, partition: record.partition)] = record.timestamp
                return false
            }
        }
        guard done != nil else { return }
        update { $0.lastHandled?.sentAt = sent[topics[$0.input]] }
        let end = now
        seen.stamps = places.compactMap { place in
            guard let stamp = newest[place] else { return nil }
            let isBrokers = seen[topic: place.topic]?.isStampedByBrokers ?? false
            let clock = isBrokers ? "a broker's" : place.topic == topics.results ? "the service's" : "a sender's"
            let isNew = former[place].map { stamp.offset >= $0 } ?? false
            let written = before.flatMap { isNew && $0.time <= end ? $0.time...end : nil }
            return .init(place: place, clock: clock, offset: stamp.offset, at: stamp.at, written: written)
        }
    }
}

extension Observations.Partition {
    fileprivate init(_ known: Inspection<SurveyLog>.Partition, fault: PartitionFault?, share: InputAssignment) {
        self.init(number: known.partition, owner: known.owner, isServed: known.extents != nil, fault: fault ?? known.fault)
        inputs = share.inputs(of: known.partition).map { place in
            var input = Observations.Input(input: place)
            input.next = known.positions.first { $0.topic == place.topic && $0.partition == place.partition }?.offset
            input.log = known.extents?.inputs[place] ?? 0..<0
            input.decidedEnd = input.log.upperBound
            input.lastHandled = known.lastHandled[place].map { ($0.offset, nil, $0.at) }
            return input
        }
    }
}
