import ArgumentParser
import Foundation
import JuiceEngine
import JuiceMessages
import JuiceService
import Kafka

/// `juice anchor`: moves the position at which a partition of the orders or restocks is read.
struct AnchorCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "anchor", abstract: "Move the position at which orders or restocks are read.",
        discussion: """
            The results are the journal: how far a partition of orders or restocks is handled stands there, and nowhere else. This \
            writes a note into it, from which on reading goes on at another offset. A service may run meanwhile: it notices within \
            seconds. It is the way to go on with a partition that the service has stopped, for example since its topic was made \
            anew.

            Moving back answers commands again: those of the last hour, or of --duplicate-window, as repeats, and older ones \
            again. Moving forward leaves commands without an answer. --dry-run shows which.

            An anchor also accepts what journal and stock lack: from then on, what is there counts. So if something is missing, \
            --accept must repeat how much, as the service and --dry-run say. Give it the service's --menu, if it is not the default.

            With --copied it is how to go on in another cluster that the topics were copied to, before the service starts there. A \
            copy has other offsets. So the last records that were handled are looked up in it, in all partitions of both topics \
            unless --topic or --partition names some. The notes say that what is before them goes by the offsets of the other \
            cluster. Where the records do not show where to go on, nothing is written, and --offset says it. To run it once more \
            changes nothing.

            Exit status: 0 moved (or shown), 64 usage, 69 no broker, 70 failed, 78 no such partition or offset.

            Examples:
              juice anchor --topic orders --partition 3 --earliest --dry-run
              juice anchor --topic orders --partition 3 --offset 17 --reason "orders recreated, INC-42"
              juice anchor --topic restocks --partition 0 --after bot-1-42
              juice anchor --topic orders --partition 3 --offset 17 --accept 2
              juice anchor --copied --reason "lost the first cluster, INC-43"
              juice anchor --copied --topic restocks --partition 3 --offset 57
            """
    )

    @Option(.topic, value: "orders|restocks", help: "Which input: orders or restocks.", completion: .list(["orders", "restocks"]))
    var topic: String?
    @Option(.partition, value: "number", help: "The partition of that topic.") var partition: Int?
    @Option(.offset, value: "number", help: "Go on at this offset.") var offset: Int?
    @Flag(inversion: .prefixedNo, help: "Go on at the oldest record.") var earliest: Bool?
    @Flag(inversion: .prefixedNo, help: "Go on behind the newest record: skip all that waits.") var latest: Bool?
    @Option(.after, value: "id", help: "Go on behind the order or restock with this id, which was answered.") var after: String?
    @Flag(
        inversion: .prefixedNo,
        help: "The topics were copied from another cluster: go on behind what was handled there.") var copied: Bool?
    @Option(.reason, value: "text", help: "Why, for whoever reads the journal.") var reason: String?
    @Option(.accept, value: "number", help: "Accept that this many records and changes are missing, as the service says.")
    var accept: Int?
    @Flag(inversion: .prefixedNo, help: "Only show what would be skipped and what would be read again.") var dryRun: Bool?
    @Flag(inversion: .prefixedNo, help: "Print a JSON object.") var json: Bool?

    @OptionGroup var group: GroupOptions
    @OptionGroup var timeout: TimeoutOption
    @OptionGroup var menu: MenuOptions
    @OptionGroup var kafka: KafkaOptions

    func run() throws {
        let settings = try Settings(self)
        let clients = try KafkaClients(settings)
        let (isCopy, destination) = (try settings[.copied], try destination(settings))
        let (topic, partition) = (try topic(settings), try settings[.partition])
        if !isCopy, topic == nil || partition == nil { throw Failure(.usage, "--topic and --partition must say which input") }
        let timeout = try settings[.timeout]
        let accepted = Int64(try settings[.accept] ?? 0)
        let (reason, isDryRun, printsJSON) = (try settings[.reason], try settings[.dryRun], try settings[.json])
        let configuration = ServiceConfiguration(
            bootstrapServers: clients.bootstrapServers, group: try settings[.group], instanceID: "anchor", topics: clients.topics,
            menu: try settings.menu(), kafkaProperties: clients.properties, capabilities: clients.capabilities)
        // Reports a broker that cannot be reached the way all commands do.
        let admin = try clients.admin(reachedUntil: Deadline(after: timeout))
        var refused = 0
        for topic in topic.map({ [$0] }) ?? InputTopic.allCases {
            let name = clients.topics[topic.topic]
            let numbers =
                try partition.map { $0..<$0 + 1 }
                ?? 0..<clients.partitionCount(of: name, asking: admin, until: Deadline(after: timeout))
            for number in numbers {
                let input = InputPartition(topic: topic, partition: Int32(number))
                do throws(ServiceError) {
                    let anchor = try PositionAnchor(
                        configuration: configuration, topic: topic, partition: input.partition, author: Self.author,
                        isCopy: isCopy, timeout: timeout, logger: clients.logger)
                    let move = try anchor.look(destination)
                    if !isDryRun { try anchor.move(to: move.to, reason: reason, copied: move.copied, accepting: accepted) }
                    let report = Report(move, of: input, isDryRun: isDryRun)
                    StandardOutput.line(printsJSON ? JSONText.line(report) : report.text)
                } catch {
                    guard case .badConfiguration = error, partition == nil else { throw Failure(error) }
                    StandardError.write(Failure(error).report)
                    refused += 1
                }
            }
        }
        guard refused > 0 else { return }
        throw Failure(.configuration, "\(refused.counted("partition")) not moved: the service must not start before they are")
    }

    private static let author = "\(NSUserName())@\(ProcessInfo.processInfo.hostName)"

    private func topic(_ settings: Settings) throws(Failure) -> InputTopic? {
        guard let name = try settings[.topic] else { return nil }
        guard let topic = InputTopic.allCases.first(where: { "\($0.name)" == name }) else {
            throw Failure(.usage, "--topic must be orders or restocks")
        }
        return topic
    }

    /// Nil if the records of a copy say it.
    private func destination(_ settings: Settings) throws(Failure) -> PositionAnchor.Destination? {
        let given: [PositionAnchor.Destination?] = [
            try settings[.offset].map { .offset(Offset($0)) }, try settings[.earliest] ? .earliest : nil,
            try settings[.latest] ? .latest : nil, try settings[.after].map { .after(id: $0) },
        ]
        let (destinations, isCopy) = (given.compactMap(\.self), try settings[.copied])
        guard destinations.count == 1 || destinations.isEmpty && isCopy else {
            throw Failure(.usage, "give one of --offset, --earliest, --latest and --after, or --copied")
        }
        return destinations.first
    }

    /// What a move means.
    private struct Report: Encodable {
        let topic: String
        let partition: Int32
        let from: Offset?
        let to: Offset
        /// The first and the last offset that get no answer; nil if there are none.
        let skipped: [Offset]?
        /// The first and the last offset that are read a second time; nil if there are none.
        let readAgain: [Offset]?
        /// The next offset in the cluster that the topics were copied from; nil if they were not.
        let copied: Offset?
        /// How many records were handled there that the copy lacks; nil if none.
        let lacking: Int?
        /// What journal and stock lack, and the number that accepts it; nil if nothing.
        let fault: String?
        let missing: Int64?
        /// How many offsets there are from there on.
        let waiting: Offset
        let moved: Bool

        init(_ move: PositionAnchor.Move, of input: InputPartition, isDryRun: Bool) {
            (topic, partition, moved) = ("\(input.topic.name)", input.partition, !isDryRun)
            (from, to, copied) = (move.from, move.to, move.copied)
            lacking = move.lacking > 0 ? move.lacking : nil
            (fault, missing) = (move.fault?.reason, move.fault?.missing)
            waiting = max(0, move.log.upperBound - move.to)
            func ends(_ start: Offset, _ end: Offset) -> [Offset]? { start < end ? [start, end - 1] : nil }
            skipped = move.from.flatMap { ends($0, move.to) }
            readAgain = move.from.flatMap { ends(move.to, min($0, move.log.upperBound)) }
        }

        var text: String {
            var text = "\(topic) [\(partition)] \(moved ? "goes on" : "would go on") at offset \(to)"
            if let from { text += ", was at \(from)" }
            if let copied { text += ", which was \(copied) in the other cluster; up to \(waiting) wait there" }
            if let lacking { text += "\n  the copy lacks the last records that were handled there: \(lacking)" }
            if let skipped { text += "\n  skipped, without an answer: offsets \(skipped[0]) to \(skipped[1])" }
            if let readAgain { text += "\n  read again: offsets \(readAgain[0]) to \(readAgain[1])" }
            if let fault, let missing { text += "\n  accepted with it, by --accept \(missing): \(fault)" }
            return text
        }
    }
}
