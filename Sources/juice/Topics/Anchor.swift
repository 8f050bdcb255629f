import ArgumentParser
import Foundation
import JuiceEngine
import JuiceMessages
import JuiceService
import Kafka

/// `juice anchor`: moves the position at which a partition of the orders or restocks is read.
struct Anchor: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Move the position at which orders or restocks are read.",
        discussion: """
            The results are the journal: how far a partition of orders or restocks is handled stands there, and nowhere else. This \
            writes a note into it, from which on reading goes on at another offset. A service may run meanwhile: it notices within \
            seconds. It is the way to go on with a partition that the service has stopped, for example since its topic was made \
            anew.

            Moving back answers commands again: those of the last hour, or of --duplicate-window, as repeats, and older ones \
            anew. Moving forward leaves commands without an answer. --dry-run shows which.

            Exit status: 0 moved (or shown), 64 usage, 69 no broker, 70 failed, 78 no such partition or offset.

            Examples:
              juice anchor --topic orders --partition 3 --earliest --dry-run
              juice anchor --topic orders --partition 3 --offset 17 --reason "orders made anew, INC-42"
              juice anchor --topic restocks --partition 0 --after bot-1-42
            """
    )

    @Option(
        help: ArgumentHelp("Which input: orders or restocks.", valueName: "orders|restocks"),
        completion: .list(["orders", "restocks"])) var topic: String?

    @Option(help: ArgumentHelp("The partition of that topic.", valueName: "number"))
    var partition: Int?

    @Option(help: ArgumentHelp("Go on at this offset.", valueName: "number"))
    var offset: Int?

    @Flag(inversion: .prefixedNo, help: "Go on at the oldest record.")
    var earliest: Bool?

    @Flag(inversion: .prefixedNo, help: "Go on behind the newest record: skip all that waits.")
    var latest: Bool?

    @Option(help: ArgumentHelp("Go on behind the order or restock with this id, which was answered.", valueName: "id")) var after:
        String?

    @Option(help: ArgumentHelp("Why, for whoever reads the journal.", valueName: "text"))
    var reason: String?

    @Flag(inversion: .prefixedNo, help: "Only show what would be skipped and what would be read again.")
    var dryRun: Bool?

    @Flag(inversion: .prefixedNo, help: "Print a JSON object.")
    var json: Bool?

    @OptionGroup var group: GroupOptions
    @OptionGroup var timeout: TimeoutOption
    @OptionGroup var kafka: KafkaOptions

    func run() throws {
        let settings = try Settings(self)
        let connection = try Connection(settings)
        let (topic, partition) = try place(settings)
        let destination = try destination(settings)
        let timeout = try settings.timeout()
        let author = "\(NSUserName())@\(ProcessInfo.processInfo.hostName)"
        // Reports a broker that cannot be reached the way all commands do.
        _ = try connection.admin(reachedWithin: timeout)
        let isDryRun = try settings.boolean(.dryRun)
        let move: PositionAnchor.Move
        do throws(ServiceError) {
            let anchor = try PositionAnchor(
                configuration: ServiceConfiguration(
                    bootstrapServers: connection.bootstrapServers, group: settings.group(), instanceID: "anchor",
                    topics: connection.topics, kafkaProperties: connection.properties, capabilities: connection.capabilities),
                topic: topic, partition: partition, author: author, timeout: timeout, logger: connection.logger)
            move = try anchor.look(destination, timeout: timeout)
            if !isDryRun { try anchor.move(to: move.to, by: author, reason: reason, timeout: timeout) }
        } catch { throw Failure(error) }
        try show(move, topic, partition, isDryRun: isDryRun, settings)
    }

    private func place(_ settings: Settings) throws(Failure) -> (InputTopic, Int32) {
        let topic: InputTopic? =
            switch settings.string(.topic) {
            case "orders": .orders
            case "restocks": .restocks
            default: nil
            }
        guard let topic else { throw Failure(.usage, "--topic must be orders or restocks") }
        guard let partition = try settings.integer(.partition, in: 0...Int(Int32.max)) else {
            throw Failure(.usage, "--partition must say which partition")
        }
        return (topic, Int32(partition))
    }

    private func destination(_ settings: Settings) throws(Failure) -> PositionAnchor.Destination {
        var given: [PositionAnchor.Destination] = []
        if let offset = try settings.integer(.offset, in: 0...Int.max) { given.append(.offset(Offset(offset))) }
        if try settings.boolean(.earliest) { given.append(.earliest) }
        if try settings.boolean(.latest) { given.append(.latest) }
        if let id = settings.string(.after) { given.append(.after(id: id)) }
        guard given.count == 1, let destination = given.first else {
            throw Failure(.usage, "give one of --offset, --earliest, --latest and --after")
        }
        return destination
    }

    private func show(
        _ move: PositionAnchor.Move,
        _ topic: InputTopic,
        _ partition: Int32,
        isDryRun: Bool,
        _ settings: Settings
    ) throws {
        if try settings.boolean(.json) {
            let line = Line(
                topic: "\(topic)", partition: partition, from: move.from, to: move.to,
                skipped: move.skipped.map { [$0.lowerBound, $0.upperBound - 1] },
                readAgain: move.readAgain.map { [$0.lowerBound, $0.upperBound - 1] }, moved: !isDryRun)
            return StandardOutput.line(JSONText.line(line))
        }
        let verb = isDryRun ? "would go on" : "goes on"
        StandardOutput.line("\(topic) [\(partition)] \(verb) at offset \(move.to)" + (move.from.map { ", was at \($0)" } ?? ""))
        if let skipped = move.skipped {
            StandardOutput.line("  skipped, without an answer: offsets \(skipped.lowerBound) to \(skipped.upperBound - 1)")
        }
        if let again = move.readAgain {
            StandardOutput.line("  read again: offsets \(again.lowerBound) to \(again.upperBound - 1)")
        }
    }

    private struct Line: Encodable {
        let topic: String
        let partition: Int32
        let from: Offset?
        let to: Offset
        let skipped: [Offset]?
        let readAgain: [Offset]?
        let moved: Bool
    }
}

extension PositionAnchor.Move {
    /// The offsets that get no answer; nil if there are none.
    var skipped: Range<Offset>? {
        guard let from else { return nil }
        let start = max(from, log.lowerBound)
        return start < to ? start..<to : nil
    }

    /// The offsets that are read a second time; nil if there are none.
    var readAgain: Range<Offset>? {
        guard let from else { return nil }
        let end = min(from, log.upperBound)
        return to < end ? to..<end : nil
    }
}
