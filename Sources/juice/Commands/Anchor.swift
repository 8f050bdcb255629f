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
            The results are the journal: only they say how far a partition of orders or restocks is handled. An anchor is a note \
            in them that moves this position, as an offset reset moves that of a consumer group. Use it when the service has \
            stopped a partition, for example because its topic was recreated. The service may run meanwhile: it notices within \
            seconds.

            After a move back, commands of the last hour, or of --duplicate-window, are answered as repeats, and older ones are \
            carried out again. After a move forward, the commands in between get no answer. --dry-run shows which. \(TimeText.help)

            An anchor also accepts what journal and stock lack: from then on, what is there counts. If something is missing, \
            --accept must repeat how much, as the service and --dry-run say. Give it the service's --menu, if it is not the default.

            --copied goes on in another cluster that the topics were copied to. Run it before the service starts there. A copy has \
            other offsets, so it looks up the last handled records in the copies: in all partitions of both topics, unless --topic \
            and --partition name one. If they do not show where to go on, it writes nothing, and you have to add --offset. It may \
            be run again.

            Exit status: 0 moved (or shown), 64 usage, 69 no broker, 70 failed, 78 no such partition or offset.

            Examples:
              juice anchor --topic orders --partition 3 --earliest --dry-run
              juice anchor --topic orders --partition 3 --offset 17 --reason "orders recreated, INC-42"
              juice anchor --topic restocks --partition 0 --after bot-1-42
              juice anchor --topic orders --partition 3 --after-time 2026-01-31T12:34 --dry-run
              juice anchor --topic orders --partition 3 --offset 17 --accept 2
              juice anchor --copied --reason "lost the first cluster, INC-43"
              juice anchor --copied --topic restocks --partition 3 --offset 57
            """
    )

    @Option("Which input: orders or restocks.", .input) var topic: InputTopic?
    @Option("The partition of that topic.", .number(in: 0...Int(Int32.max), "number")) var partition: Int?
    @Option("Go on at this offset.", .number(in: 0 ... .max, "number")) var offset: Int?
    @Option("Go on at the first record that was sent at or after this time.", .time) var afterTime: String?
    @Flag("Go on at the oldest record.") var earliest = false
    @Flag("Go on behind the newest record: skip all that waits.") var latest = false
    @Option("Go on behind the order or restock with this id, which was answered.", .text("id")) var after: String?
    @Flag("The topics were copied from another cluster: go on behind what was handled there.") var copied = false
    @Option("Why, for whoever reads the journal.", .text("text")) var reason: String?
    @Option(
        "Accept that this many records and changes are missing, as the service says.", .number(in: 1 ... .max, "number"))
    var accept: Int?
    @Flag("Only show what would be skipped and what would be read again.") var dryRun = false

    @OptionGroup var group: GroupOptions
    @OptionGroup var menu: MenuOptions
    @OptionGroup var client: ClientOptions

    func run() throws {
        if !copied, topic == nil || partition == nil { throw Failure(.usage, "--topic and --partition must say which input") }
        let destinations: [PositionAnchor.Destination] = [
            offset.map { .offset(Offset($0)) }, afterTime.flatMap { TimeText.milliseconds($0) }.map { .time($0) },
            earliest ? .earliest : nil, latest ? .latest : nil, after.map { .after(id: $0) },
        ].compactMap(\.self)
        guard destinations.count == 1 || destinations.isEmpty && copied else {
            throw Failure(.usage, "give one of --offset, --after, --after-time, --earliest and --latest, or --copied")
        }
        let clients = try KafkaClients(client)
        let configuration = clients.service(group: group.group, instanceID: "anchor", menu: try menu.load())
        // Reports a broker that cannot be reached the way all commands do.
        let admin = try clients.reachedAdmin()
        var refused = 0
        for topic in topic.map({ [$0] }) ?? InputTopic.allCases {
            let name = clients.topics[topic.topic]
            let numbers =
                try partition.map { $0..<$0 + 1 }
                ?? 0..<clients.partitionCount(of: name, asking: admin)
            for number in numbers {
                do throws(ServiceError) {
                    let anchor = try PositionAnchor(
                        configuration: configuration, topic: topic, partition: Int32(number),
                        author: "\(NSUserName())@\(ProcessInfo.processInfo.hostName)", isCopy: copied, timeout: client.timeout,
                        logger: clients.logger)
                    let move = try anchor.look(destinations.first)
                    if !dryRun {
                        try anchor.move(to: move.to, reason: reason, copied: move.copied, accepting: Int64(accept ?? 0))
                    }
                    StandardOutput.line("\(topic.name) [\(number)] \(dryRun ? "would go on" : "goes on") \(Self.text(move))")
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

    /// What a move means, after "goes on".
    private static func text(_ move: PositionAnchor.Move) -> String {
        var text = "at offset \(move.to)"
        if let from = move.from { text += ", was at \(from)" }
        if let copied = move.copied {
            let waiting = max(0, move.log.upperBound - move.to)
            text += ", which was \(copied) in the other cluster; up to \(waiting) wait there"
        }
        if move.lacking > 0 { text += "\n  the copy lacks the last records that were handled there: \(move.lacking)" }
        if let from = move.from, from < move.to { text += "\n  skipped, without an answer: offsets \(from) to \(move.to - 1)" }
        if let end = move.from.map({ min($0, move.log.upperBound) }), move.to < end {
            text += "\n  read again: offsets \(move.to) to \(end - 1)"
        }
        if let fault = move.fault { text += "\n  accepted with it, by --accept \(fault.missing): \(fault.reason)" }
        return text
    }
}

extension OptionValue<InputTopic> {
    fileprivate static var input: Self {
        Self("orders|restocks", "orders or restocks") { name in InputTopic.allCases.first { "\($0.name)" == name } }
    }
}
