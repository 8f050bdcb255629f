import ArgumentParser
import Foundation
import JuiceAudit
import JuiceDomain
import JuiceMessages
import JuiceService
import Kafka
import Synchronization

struct AuditCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "audit", abstract: "Check that every command was answered once, and rightly.",
        discussion: """
            Reads all five topics up to their present ends, and merges the results with the inputs: one record per record, \
            in order; every answer as the service's own code gives it; revisions without gaps; the stock a state that \
            the answers left; forwarded commands and dead letters accounted for. It says which partition had which owners when, \
            and which positions operators moved. It writes nothing, and needs only the permission to read.

            Give it the service's --menu, --duplicate-window and --duplicate-ids, if they are not the default. After a change of \
            the menu, give it --menu for each: answers under a menu that is not given are counted and not judged. Where the \
            beginning of a topic has expired, it says from where on it could judge. Commands that are not answered yet are no \
            violation.

            Topics that were copied from another cluster are read twice, and checked from the notes of `juice anchor --copied` \
            on.

            Exit status: 0 clean, 1 a violation, 69 no broker.

            Examples:
              juice audit
              juice audit --json | jq -r '.violations[].place | "\\(.topic) \\(.partition)@\\(.offset)"'
            """
    )

    @Flag("Print the report as JSON.") var json = false
    @OptionGroup var repeats: WindowOptions
    @Option(
        help: ArgumentHelp(
            "The menu's JSON file. Repeat it for menus that the service had before. Unless given, it is the built-in menu.",
            valueName: "file"
        ),
        completion: .file(extensions: ["json"]))
    var menu: [String] = []
    @OptionGroup var client: ClientOptions

    func run() throws {
        let progress = ProgressLine()
        let report = try report(on: KafkaClients(client)) { progress.show("auditing", $0, of: $1) }
        progress.clear()
        StandardOutput.line(json ? try JSONText.indented(report) : report.lines.joined(separator: "\n"))
        if !report.isClean { throw ExitCode.failure }
    }

    /// Reads the topics and judges them.
    ///
    /// - Parameter onProgress: called with the number of offsets read and their total, by one thread at a time.
    func report(
        on clients: KafkaClients, onProgress: @escaping @Sendable (_ done: Int, _ total: Int) -> Void = { _, _ in }
    ) throws -> AuditReport {
        let source = try KafkaAuditSource(clients, onProgress: onProgress)
        // Says whether the topics limit times, and let forwarded commands keep theirs. Unknown without the right to describe them.
        let findings = try? clients.topicCheck.findings(clients.admin(), reader: nil, timeout: clients.timeout)
        let rules = AuditRules(
            partitionCount: try source.storePartitionCount(), window: repeats.window, topicPrefix: client.kafka.topicPrefix,
            menus: menu.isEmpty ? [.standard] : try menu.map(MenuOptions.menu), allowsOpen: true,
            keepsTimes: findings.map { $0.oldestForward == nil } ?? false,
            limitsTimes: findings?.times.isJudgedByBrokers ?? false)
        // More lanes than this would only take memory: reading and judging keep a core busy each.
        let lanes = min(4, ProcessInfo.processInfo.activeProcessorCount)
        return AuditReport(try Audit(of: source, by: rules, lanes: lanes))
    }
}

/// Reads the five topics of a cluster for an audit, up to the ends that they had at its start. It joins no group, and writes
/// nothing.
private final class KafkaAuditSource: AuditSource {
    private let clients: KafkaClients
    private let watermarks: Logs
    /// How many offsets were read. Some are read again.
    private let done = Mutex(0)
    private let onProgress: @Sendable (_ done: Int, _ total: Int) -> Void

    init(_ clients: KafkaClients, onProgress: @escaping @Sendable (_ done: Int, _ total: Int) -> Void) throws(Failure) {
        let consumer = try clients.consumer(isolation: "read_uncommitted")
        defer { consumer.close() }
        try clients.reach(consumer)
        var watermarks: Logs = [:]
        // The order matters. Stock is written after the journal, so its end is looked up first. Records that the journal names were
        // there before it, so the ends of their topics are looked up last.
        for topic in [.stock, .results, .deadLetters] + InputTopic.allCases.map(\.topic) {
            let found = try clients.ask(consumer) { timeout throws(KafkaError) in
                let partitions = try consumer.partitions(of: [clients.topics[topic]], timeout: timeout)
                return try consumer.watermarks(of: partitions, timeout: timeout)
            }
            watermarks.merge(found) { $1 }
        }
        (self.clients, self.watermarks, self.onProgress) = (clients, watermarks, onProgress)
    }

    func partitionCount(of topic: Topic) -> Int32 {
        Int32(watermarks.keys.count { $0.topic == clients.topics[topic] })
    }

    func firstOffset(of topic: Topic, partition: Int32) -> Int64 { watermarks[clients.topics[topic, partition]]?.lowerBound ?? 0 }

    func reader(of topic: Topic, partition: Int32, from offset: Int64) throws -> (any AuditReader)? {
        let place = clients.topics[topic, partition]
        guard let log = watermarks[place], offset < log.upperBound, !log.isEmpty else { return nil }
        let reader = PartitionReader(
            try clients.consumer(reset: "error"), gaps: .pass, onTransientError: clients.watch.noticed)
        let unread = max(offset, log.lowerBound)..<log.upperBound
        try clients.call(try reader.start([place: unread]))
        return Reader(source: self, reader: reader, place: place, unread: unread)
    }

    private final class Reader: AuditReader {
        private let source: KafkaAuditSource
        private let reader: PartitionReader
        private let place: TopicPartition
        private var unread: Range<Offset>

        init(source: KafkaAuditSource, reader: PartitionReader, place: TopicPartition, unread: Range<Offset>) {
            (self.source, self.reader, self.place, self.unread) = (source, reader, place, unread)
        }

        func next() throws -> [AuditRecord] {
            do throws(KafkaError) {
                let records = try reader.next(until: .now + source.clients.timeout).map { $0.map { AuditRecord($0) } } ?? []
                let next = min(max(records.last.map { $0.offset + 1 } ?? unread.upperBound, unread.lowerBound), unread.upperBound)
                let total = source.watermarks.offsetCount
                source.done.withLock { done in
                    done += Int(next - unread.lowerBound)
                    source.onProgress(min(done, total), total)
                }
                unread = next..<unread.upperBound
                return records
            } catch {
                guard error.code == .timedOut else { throw source.clients.failure(error) }
                throw Failure(
                    .unavailable, "\(place) cannot be read from offset \(unread.lowerBound) to its end at \(unread.upperBound)",
                    hint: "a transaction may still be open: try again, or wait longer with --timeout")
            }
        }

        var gaps: [AuditGap] {
            reader.gaps.map { AuditGap($0.offsets, $0.error.code.isDamage ? $0.error.message : nil) }
        }
    }
}

extension AuditRecord {
    fileprivate init(_ record: ConsumedRecord) {
        let (key, value) = (record.key.map { Array($0) }, record.value.map { Array($0) })
        let headers = record.headers.map { MessageHeader(name: $0.name, value: $0.value) }
        self.init(offset: record.offset, timestamp: record.timestamp ?? 0, key: key, value: value, headers: headers)
    }
}

struct AuditReport: Encodable {
    let isClean: Bool
    let missing, doubled, wrong: Int
    /// The first violations, in the order of topics, partitions and offsets within each kind of check.
    let violations: [Fault]
    let counts: AuditCounts
    let firstAnswers: AnswerCounts
    let owners: [AuditOwner]
    let anchors: [AuditAnchor]
    /// Where the audit begins in partitions whose beginning has expired, or has the offsets of another cluster.
    let judgedFrom: [AuditMoment]

    init(_ audit: Audit) {
        (missing, doubled, wrong) = (audit.count(of: .missing), audit.count(of: .doubled), audit.count(of: .wrong))
        isClean = missing + doubled + wrong == 0
        (violations, counts, firstAnswers) = (audit.faults, audit.counts, audit.firstAnswers)
        (owners, anchors, judgedFrom) = (audit.owners, audit.anchors, audit.starts)
    }

    /// The most lines of a kind in the text; `--json` has more.
    private static let shown = 100

    var lines: [String] {
        func time(_ moment: AuditMoment) -> String { DateTime.text(milliseconds: moment.timestamp) }
        var lines = list(violations, of: missing + doubled + wrong) { "\($0.category)  \($0.place)  \($0.problem)" }
        lines += list(owners, of: owners.count) { owner in
            let end = owner.to.map { " to \($0.offset) (\(time($0)))" } ?? " on"
            return "partition \(owner.from.partition): \(owner.instance) of group \(owner.group) from \(owner.from.offset)"
                + " (\(time(owner.from)))\(end)"
        }
        lines += list(anchors, of: anchors.count) { anchor in
            "\(anchor.topic) \(anchor.partition): moved from \(anchor.from.map(String.init) ?? "nowhere") to \(anchor.to)"
                + (anchor.copied.map { ", in the other cluster \($0)," } ?? "")
                + " by \(anchor.by) (\(time(anchor.at))), \(anchor.skipped) passed over" + (anchor.reason.map { ": \($0)" } ?? "")
        }
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
            lines.append(
                "\(counts.unjudged.counted("record")) not judged: what they depend on has expired, or their menu is not given")
        }
        let violated = "violated: \(missing) missing, \(doubled) doubled, \(wrong) wrong"
        return lines + [isClean ? "clean: nothing is missing, doubled or wrong" : violated]
    }

    /// A line for each of the first items, and one with the number of the others.
    private func list<Item>(_ items: [Item], of count: Int, _ line: (Item) -> String) -> [String] {
        let shown = items.prefix(Self.shown).map { line($0).printable }
        return count > shown.count ? shown + ["… and \(count - shown.count) more: see --json"] : shown
    }
}
