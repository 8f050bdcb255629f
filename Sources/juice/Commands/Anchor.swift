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
            anew. Moving forward leaves commands without an answer. --dry-run shows which.

            With --copied it is how to go on in another cluster that the topics were copied to, once for each partition of \
            orders and of restocks, before the service starts there. A copy has other offsets. So the last records that were \
            handled are looked up in it, and the note says that what is before it goes by the offsets of the other cluster.

            Exit status: 0 moved (or shown), 64 usage, 69 no broker, 70 failed, 78 no such partition or offset.

            Examples:
              juice anchor --topic orders --partition 3 --earliest --dry-run
              juice anchor --topic orders --partition 3 --offset 17 --reason "orders made anew, INC-42"
              juice anchor --topic restocks --partition 0 --after bot-1-42
              juice anchor --topic orders --partition 3 --copied --reason "lost the first cluster, INC-43"
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
        help: "Go on behind what was handled in the cluster that the topics were copied from.") var copied: Bool?
    @Option(.reason, value: "text", help: "Why, for whoever reads the journal.") var reason: String?
    @Flag(inversion: .prefixedNo, help: "Only show what would be skipped and what would be read again.") var dryRun: Bool?
    @Flag(inversion: .prefixedNo, help: "Print a JSON object.") var json: Bool?

    @OptionGroup var group: GroupOptions
    @OptionGroup var timeout: TimeoutOption
    @OptionGroup var kafka: KafkaOptions

    func run() throws {
        let settings = try Settings(self)
        let clients = try KafkaClients(settings)
        let input = try input(settings)
        let destination = try destination(settings)
        let timeout = try settings[.timeout]
        let (group, isDryRun, printsJSON) = (try settings[.group], try settings[.dryRun], try settings[.json])
        let author = "\(NSUserName())@\(ProcessInfo.processInfo.hostName)"
        // Reports a broker that cannot be reached the way all commands do.
        _ = try clients.admin(reachedUntil: Deadline(after: timeout))
        let move: PositionAnchor.Move
        do throws(ServiceError) {
            let anchor = try PositionAnchor(
                configuration: ServiceConfiguration(
                    bootstrapServers: clients.bootstrapServers, group: group, instanceID: "anchor",
                    topics: clients.topics, kafkaProperties: clients.properties, capabilities: clients.capabilities),
                topic: input.topic, partition: input.partition, author: author, timeout: timeout, logger: clients.logger)
            move = try anchor.look(destination)
            if !isDryRun { try anchor.move(to: move.to, reason: reason, copied: move.copied) }
        } catch { throw Failure(error) }
        let report = Report(move, of: input, isDryRun: isDryRun)
        StandardOutput.line(printsJSON ? JSONText.line(report) : report.text)
    }

    private func input(_ settings: Settings) throws(Failure) -> InputPartition {
        let name = try settings[.topic]
        guard let topic = InputTopic.allCases.first(where: { "\($0.name)" == name }) else {
            throw Failure(.usage, "--topic must be orders or restocks")
        }
        guard let partition = try settings[.partition] else { throw Failure(.usage, "--partition must say which partition") }
        return InputPartition(topic: topic, partition: Int32(partition))
    }

    private func destination(_ settings: Settings) throws(Failure) -> PositionAnchor.Destination {
        let given: [PositionAnchor.Destination?] = [
            try settings[.offset].map { .offset(Offset($0)) }, try settings[.earliest] ? .earliest : nil,
            try settings[.latest] ? .latest : nil, try settings[.after].map { .after(id: $0) },
            try settings[.copied] ? .copied : nil,
        ]
        guard let destination = given.compactMap(\.self).first, given.count(where: { $0 != nil }) == 1 else {
            throw Failure(.usage, "give one of --offset, --earliest, --latest, --after and --copied")
        }
        return destination
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
        let moved: Bool

        init(_ move: PositionAnchor.Move, of input: InputPartition, isDryRun: Bool) {
            (topic, partition, moved) = ("\(input.topic.name)", input.partition, !isDryRun)
            (from, to, copied) = (move.from, move.to, move.copied)
            lacking = move.lacking > 0 ? move.lacking : nil
            func ends(_ start: Offset, _ end: Offset) -> [Offset]? { start < end ? [start, end - 1] : nil }
            skipped = move.from.flatMap { ends(max($0, move.log.lowerBound), move.to) }
            readAgain = move.from.flatMap { ends(move.to, min($0, move.log.upperBound)) }
        }

        var text: String {
            var text = "\(topic) [\(partition)] \(moved ? "goes on" : "would go on") at offset \(to)"
            if let from { text += ", was at \(from)" }
            if let copied { text += ", which was \(copied) in the other cluster" }
            if let lacking { text += "\n  the copy lacks the last records that were handled there: \(lacking)" }
            if let skipped { text += "\n  skipped, without an answer: offsets \(skipped[0]) to \(skipped[1])" }
            if let readAgain { text += "\n  read again: offsets \(readAgain[0]) to \(readAgain[1])" }
            return text
        }
    }
}
