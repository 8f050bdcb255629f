import ArgumentParser
import Foundation
import JuiceAudit
import JuiceDomain
import JuiceEngine
import JuiceMessages
import JuiceService
import Kafka
import Synchronization

/// `juice audit`: checks from the topics alone whether the contract was kept.
struct AuditCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "audit", abstract: "Check that every order and restock was answered once, and rightly.",
        discussion: """
            Reads all five topics up to their present ends, and merges the results with the orders and restocks by the \
            contract: one record per record, in order; every answer right; revisions without gaps; the stock a state that the \
            answers left; forwarded commands and dead letters accounted for. It says which partition had which owners when, and \
            which positions operators moved. It writes nothing, and needs only the permission to read.

            Give it the service's --menu, --duplicate-window and --duplicate-ids, if they are not the default. Where the \
            beginning of a topic has expired, it says from where on it could judge. Commands that are not answered yet are no \
            violation.

            Topics that were copied from another cluster are read twice: by the notes of `juice anchor --copied` it knows which \
            offset was which there, and names what the copy lacks.

            Exit status: 0 clean, 1 a violation, 69 no broker.

            Examples:
              juice audit
              juice audit --json | jq -r '.violations[] | "\\(.topic) \\(.partition)@\\(.offset)"'
            """
    )

    @Flag(inversion: .prefixedNo, help: "Print the report as JSON.") var json: Bool?
    @Option(.duplicateWindow, help: "The service's duplicate window.") var duplicateWindow: String?
    @Option(help: ArgumentHelp("How many ids per partition the service remembers for that. (default: 1000000)", valueName: "count"))
    var duplicateIds: Int?

    @OptionGroup var menu: MenuOptions
    @OptionGroup var timeout: TimeoutOption
    @OptionGroup var kafka: KafkaOptions

    func run() throws {
        let settings = try Settings(self)
        let printsJSON = try settings[.json]
        let bar = ProgressBar()
        let report = try Self.report(on: KafkaClients(settings), settings) { bar.show("auditing", $0, of: $1) }
        bar.clear()
        StandardOutput.line(printsJSON ? try JSONText.indented(report) : report.lines.joined(separator: "\n"))
        if !report.isClean { throw ExitCode.failure }
    }

    /// Reads the topics and judges them.
    ///
    /// - Parameter onProgress: called with how many records were read, of how many, by one thread at a time.
    static func report(
        on clients: KafkaClients, _ settings: Settings,
        onProgress: @escaping @Sendable (_ done: Int, _ total: Int) -> Void = { _, _ in }
    ) throws -> AuditReport {
        let (topicPrefix, window) = (try settings[.topicPrefix], try DuplicateWindow(settings))
        let source = try KafkaAuditSource(clients, topicPrefix, timeout: settings[.timeout], onProgress: onProgress)
        let rules = AuditRules(
            partitionCount: try AuditSession.storePartitionCount(of: source), memoryWindow: window.age, memoryCount: window.count,
            topicPrefix: topicPrefix, menu: AuditMenu(try settings.menu()), allowsOpen: true,
            keepsTimes: Self.keepsTimes(clients, timeout: try settings[.timeout]))
        var found = try audit(source, by: rules, lanes: source.laneCount)
        if found.anchors.contains(where: { $0.copied != nil }) {
            found = try audit(CopiedTopics(source, topicPrefix: topicPrefix), by: rules, lanes: source.laneCount)
        }
        return AuditReport(found)
    }

    /// Judges all lanes at the same time, until one fails.
    private static func audit(_ source: some AuditSource, by rules: AuditRules, lanes: Int) throws -> Audit {
        let session = AuditSession(source, by: rules)
        let failure = Mutex<(any Error)?>(nil)
        DispatchQueue.concurrentPerform(iterations: lanes) { lane in
            do {
                for partition in stride(from: lane, to: session.partitionCount, by: lanes)
                where failure.withLock({ $0 == nil }) {
                    try session.audit(partition)
                }
            } catch {
                failure.withLock { $0 = $0 ?? error }
            }
        }
        if let failure = failure.withLock({ $0 }) { throw failure }
        return session.finish()
    }

    /// Whether the topics let a forwarded command keep its time. Without the right to describe them it is unknown.
    private static func keepsTimes(_ clients: KafkaClients, timeout: Duration) -> Bool {
        let check = TopicCheck(
            names: clients.topics, bootstrapServers: clients.bootstrapServers, capabilities: clients.capabilities)
        let findings = try? check.findings(clients.admin(), reader: nil, timeout: timeout)
        return findings.map { $0.oldestForward == nil } ?? false
    }
}

/// Reads the five topics of a cluster for an audit, up to the ends that they had at its start.
///
/// It joins no group and writes nothing. Partitions are read in lanes, at the same time: partition p in lane p modulo their
/// number. A lane has a client for each partition that is being read, which is used again for another one.
private final class KafkaAuditSource: AuditSource {
    private final class Lane: Sendable { let readings = Mutex<[Reading]>([]) }

    private struct Reading {
        let reader: TopicReader
        let place: TopicPartition
        /// Where the next records will be asked for.
        var asked: Offset?
        /// How far the log is read.
        var next: Offset = 0
        /// Whether its client is free for another partition.
        var isDone = false
    }

    /// More lanes than this would only take memory: reading and judging keep a core busy each.
    private static let mostLanes = 4

    private let clients: KafkaClients
    private let topicPrefix: String
    private let watermarks: [TopicPartition: Range<Offset>]
    /// How many offsets there are between these.
    private let total: Int
    private let lanes: [Lane]
    private let timeout: Duration
    /// How far partitions were read. Some records are read again.
    private let progress = Mutex<(done: Int, ends: [TopicPartition: Offset])>((0, [:]))
    private let onProgress: @Sendable (_ done: Int, _ total: Int) -> Void
    private let unreadable = Mutex<[TopicPartition: Set<AuditGap>]>([:])

    /// Looks up the ends of the topics.
    ///
    /// - Parameter timeout: how long to wait for the brokers, and for open transactions to end.
    init(
        _ clients: KafkaClients, _ topicPrefix: String, timeout: Duration,
        onProgress: @escaping @Sendable (_ done: Int, _ total: Int) -> Void
    ) throws(Failure) {
        let deadline = Deadline(after: timeout)
        var watermarks: [TopicPartition: Range<Offset>] = [:]
        // The order matters. The stock follows the journal, so its end is looked up before. What the journal names was there
        // before it, so those ends are looked up after.
        for topic in [.stock, .results, .deadLetters, .orders, .restocks] as [AuditTopic] {
            let name = topicPrefix + topic.rawValue
            let reader = try TopicReader(clients, topic: name, upTo: .highWatermark, timeout: deadline.remaining)
            watermarks.merge(reader.watermarks) { $1 }
        }
        total = watermarks.values.reduce(0) { $0 + $1.count }
        lanes = (0..<min(Self.mostLanes, ProcessInfo.processInfo.activeProcessorCount)).map { _ in Lane() }
        (self.clients, self.topicPrefix, self.watermarks) = (clients, topicPrefix, watermarks)
        (self.timeout, self.onProgress) = (timeout, onProgress)
    }

    var laneCount: Int { lanes.count }

    func partitionCount(of topic: AuditTopic) -> Int {
        let name = topicPrefix + topic.rawValue
        return watermarks.keys.count { $0.topic == name }
    }

    func firstOffset(of topic: AuditTopic, partition: Int) -> Int64 { watermarks[place(topic, partition)]?.lowerBound ?? 0 }

    func records(of topic: AuditTopic, partition: Int, from offset: Int64) throws -> [AuditRecord] {
        let place = place(topic, partition)
        guard let log = watermarks[place] else { return [] }
        let (records, next) = try lanes[partition % lanes.count].readings.withLock { readings in
            try read(place, from: max(offset, log.lowerBound), to: log.upperBound, &readings)
        }
        progress.withLock { progress in
            let before = progress.ends[place] ?? log.lowerBound
            let end = min(max(before, next), log.upperBound)
            progress.ends[place] = end
            progress.done += Int(end - before)
            onProgress(progress.done, total)
        }
        return records
    }

    func gaps(of topic: AuditTopic, partition: Int) -> [AuditGap] {
        unreadable.withLock { Array($0[place(topic, partition)] ?? []) }
    }

    private func place(_ topic: AuditTopic, _ partition: Int) -> TopicPartition {
        TopicPartition(topic: topicPrefix + topic.rawValue, partition: Int32(clamping: partition))
    }

    /// - Returns: the records, and how far the log is read.
    private func read(
        _ place: TopicPartition, from start: Offset, to end: Offset, _ readings: inout [Reading]
    ) throws -> ([AuditRecord], next: Offset) {
        let own = readings.firstIndex { $0.place == place }
        guard start < end else {
            if let own { readings[own].isDone = true }
            return ([], end)
        }
        let index = own ?? readings.firstIndex { $0.isDone && $0.place.topic == place.topic }
        var reading =
            try index.map { readings.remove(at: $0) }
            ?? Reading(reader: TopicReader(clients, topic: place.topic, upTo: nil, timeout: timeout), place: place)
        reading.reader.warnsOfGaps = false
        if reading.place != place || reading.asked != start {
            try reading.reader.start(at: [place: start])
            reading = Reading(reader: reading.reader, place: place, next: start)
        }
        let deadline = Deadline(after: timeout)
        var records: [AuditRecord] = []
        while records.isEmpty, reading.next < end {
            var next = reading.next
            let reached = try reading.reader.poll(timeout: deadline.step()) { record in
                guard record.partition == place.partition else { return }
                next = max(next, record.offset + 1)
                if record.offset < end { records.append(AuditRecord(record)) }
            }
            reading.next = max(next, reached[place] ?? 0)
            guard records.isEmpty, reading.next < end, deadline.isOver else { continue }
            throw Failure(
                .unavailable, "\(place.topic) \(place.partition) cannot be read from offset \(reading.next) to its end at \(end)",
                hint: "a transaction may still be open: try again, or wait longer with --timeout")
        }
        let gaps = reading.reader.gaps.filter { $0.partition == place }.map { gap in
            AuditGap(gap.offsets, gap.error.code.isDamage ? gap.error.message : nil)
        }
        if !gaps.isEmpty { unreadable.withLock { $0[place, default: []].formUnion(gaps) } }
        reading.asked = records.last.map { $0.offset + 1 }
        reading.isDone = records.isEmpty
        readings.append(reading)
        return (records, reading.next)
    }
}

extension AuditRecord {
    fileprivate init(_ record: ConsumedRecord) {
        let (key, value) = (record.key.map { Array($0) }, record.value.map { Array($0) })
        let headers = record.headers.map { AuditHeader($0.name, $0.value) }
        self.init(offset: record.offset, timestamp: record.timestamp ?? 0, key: key, value: value, headers: headers)
    }
}

extension AuditMenu {
    /// The menu as plain data. The audit shares no code with the service.
    fileprivate init(_ menu: Menu) {
        self.init(
            fruits: menu.fruits.map { Fruit($0.id, initialLevel: $0.initialStock) },
            juices: menu.juices.map { juice in Juice(juice.id, juice.recipe.map { Amount(fruit: $0.fruit, amount: $0.amount) }) })
    }
}

/// What an audit found, as JSON and as text for people.
struct AuditReport: Encodable {
    let isClean: Bool
    let missing, doubled, wrong: Int
    /// The first ones, in the order of topics, partitions and offsets within each kind of check.
    let violations: [Fault]
    let counts: AuditCounts
    let owners: [AuditOwner]
    let anchors: [AuditAnchor]
    /// Where the audit begins in partitions whose beginning has expired, or goes by unknown offsets.
    let judgedFrom: [AuditMoment]

    init(_ audit: Audit) {
        (missing, doubled, wrong) = (audit.count(of: .missing), audit.count(of: .doubled), audit.count(of: .wrong))
        isClean = missing + doubled + wrong == 0
        (violations, counts, owners, anchors, judgedFrom) = (audit.faults, audit.counts, audit.owners, audit.anchors, audit.starts)
    }

    /// How many lines of a kind people are shown; `--json` has more.
    private static let shown = 100

    /// The report for people.
    var lines: [String] {
        func time(_ moment: AuditMoment) -> String { DateTime.utc(milliseconds: moment.timestamp) }
        var lines = Self.cut(violations.map { "\($0.category)  \($0.place)  \($0.problem)" }, of: missing + doubled + wrong)
        lines += Self.cut(
            owners.map { owner in
                let end = owner.to.map { " to \($0.offset) (\(time($0)))" } ?? " on"
                return "partition \(owner.from.partition): \(owner.instance) of group \(owner.group) from \(owner.from.offset)"
                    + " (\(time(owner.from)))\(end)"
            }, of: owners.count)
        lines += Self.cut(
            anchors.map { anchor in
                "\(anchor.topic) \(anchor.partition): moved from \(anchor.from.map(String.init) ?? "nowhere") to \(anchor.to)"
                    + (anchor.copied.map { ", in the other cluster \($0)," } ?? "")
                    + " by \(anchor.by) (\(time(anchor.at))), \(anchor.skipped) passed over"
                    + (anchor.reason.map { ": \($0)" } ?? "")
            }, of: anchors.count)
        lines += judgedFrom.map {
            "partition \($0.partition): judged from record \($0.offset) on; what is before has expired, or is of a cluster before the last"
        }
        lines.append(
            "\(counts.commands.counted("command")) of \(counts.stores.counted("store")), \(counts.answers.counted("answer")) "
                + "(\(counts.duplicates.counted("duplicate"))), \(counts.deadLetters.counted("dead letter")), "
                + "\(counts.forwarded) forwarded")
        if counts.open > 0 { lines.append("\(counts.open.counted("latest command")) not answered yet") }
        if counts.skipped > 0 {
            lines.append("\(counts.skipped.counted("record")) passed over, by an operator or when the results began")
        }
        if counts.unjudged > 0 {
            lines.append("\(counts.unjudged.counted("record")) not judged, since what belongs to them has expired")
        }
        let violated = "violated: \(missing) missing, \(doubled) doubled, \(wrong) wrong"
        return lines + [isClean ? "clean: nothing is missing, doubled or wrong" : violated]
    }

    /// The first lines, and how many more there are.
    private static func cut(_ lines: [String], of count: Int) -> [String] {
        let shown = lines.prefix(Self.shown).map(\.printable)
        return count > shown.count ? shown + ["… and \(count - shown.count) more: see --json"] : shown
    }
}
