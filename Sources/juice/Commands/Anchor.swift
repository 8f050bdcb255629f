import ArgumentParser
import Foundation
import JuiceMessages
import JuiceService
import Kafka

struct AnchorCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "anchor", abstract: "Move the position at which a partition of an input is read.",
        discussion: """
            The results are the journal: only they say how far a partition of an input is handled. An anchor is a note \
            in them that moves this position, as an offset reset moves that of a consumer group. Use it when the service has \
            stopped a partition, for example because its topic was recreated. The service may run meanwhile: it notices within \
            seconds.

            After a move back, commands of the last hour, or of --duplicate-window, are answered as repeats, and older ones are \
            carried out again. After a move forward, the commands in between get no answer. --dry-run shows which. \(TimeText.help)

            An anchor also accepts what journal and stock lack: from then on, what is there counts. If something is missing, \
            --accept must repeat how much, as the service and --dry-run say. Give it the service's --menu, if it is not the default.

            --copied goes on in another cluster that the topics were copied to. Run it before the service starts there. A copy has \
            other offsets, so it looks up the last handled records in the copies: in all partitions of both topics, unless --topic \
            and --partition name one. Where a copy lacks them, it goes on at --after-time, within the hour before they were sent. \
            If they do not show where to go on, it does not move the partition, and you have to add --offset. It may be run again.

            Exit status: 0 moved (or shown), 64 usage, 69 no broker, 70 failed, 78 no such partition or offset.

            Examples:
              juice anchor --topic orders --partition 3 --earliest --dry-run
              juice anchor --topic orders --partition 3 --offset 17 --reason "orders recreated, INC-42"
              juice anchor --topic orders --partition 3 --after-time 2026-01-31T12:34 --dry-run
              juice anchor --topic orders --partition 3 --offset 17 --accept 2
              juice anchor --copied --reason "lost the first cluster, INC-43"
              juice anchor --copied --topic restocks --partition 3 --offset 57
            """
    )

    @Option("Which input.", .input) var topic: InputTopic?
    @Option("The partition of that topic.", .number(in: 0...Int(Int32.max), "number")) var partition: Int?
    @Option("Go on at this offset.", .number(in: 0 ... .max, "number")) var offset: Int?
    @Option("Go on at the first record that was sent at or after this time.", .time) var afterTime: String?
    @Flag("Go on at the oldest record.") var earliest = false
    @Flag("Go on behind the newest record: skip all that waits.") var latest = false
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
        let (isOne, author) = (topic != nil, "\(NSUserName())@\(ProcessInfo.processInfo.hostName)")
        let destinations: [PositionAnchor.Destination] = [
            offset.map { .offset(Offset($0)) }, afterTime.flatMap { TimeText.milliseconds($0) }.map { .time($0) },
            earliest ? .earliest : nil, latest ? .latest : nil,
        ].compactMap(\.self)
        guard isOne == (partition != nil), isOne || copied else {
            throw Failure(.usage, "--topic and --partition must say which input")
        }
        guard destinations.count == 1 || destinations.isEmpty && copied else {
            throw Failure(.usage, "give one of --offset, --after-time, --earliest and --latest, or --copied")
        }
        guard isOne || afterTime != nil || destinations.isEmpty else {
            throw Failure(.usage, "--topic and --partition must say which input goes on there")
        }
        let clients = try KafkaClients(client)
        let configuration = clients.service(group: group.group, instanceID: "anchor", menu: try menu.load())
        // Reports an unreachable broker the way all commands do.
        _ = try clients.reachedAdmin()
        var (number, count, refused) = (Int32(partition ?? 0), Int32(0), 0)
        repeat {
            do throws(ServiceError) {
                let anchor = try PositionAnchor(
                    configuration: configuration, topic: topic, partition: number, author: author, isCopy: copied,
                    timeout: client.timeout, logger: clients.logger)
                count = anchor.storePartitions
                let (moves, fault) = try anchor.look(destinations.first ?? .handled)
                if !dryRun { try anchor.move(moves, reason: reason, accepting: Int64(accept ?? 0)) }
                for move in moves {
                    StandardOutput.line(
                        "\(move.to.topic) [\(move.to.partition)] \(dryRun ? "would go on" : "goes on") \(text(move))")
                }
                if let fault { StandardOutput.line("  accepted with it, by --accept \(fault.missing): \(fault.reason)") }
            } catch {
                guard case .badConfiguration = error, !isOne, count > 0 else { throw Failure(error) }
                StandardError.write(Failure(error).report)
                refused += 1
            }
            number += 1
        } while !isOne && number < count
        guard refused > 0 else { return }
        throw Failure(.configuration, "\(refused.counted("partition")) not moved: the service must not start before they are")
    }

    /// Describes a move, to be printed after "goes on".
    private func text(_ move: PositionAnchor.Move) -> String {
        let (from, to, end) = (move.from ?? move.to.offset, move.to.offset, move.log.upperBound)
        if copied {
            return "at offset \(to), which was \(move.from ?? 0) in the other cluster; up to \(max(0, end - to)) wait there"
        }
        var text = "at offset \(to)" + (move.from.map { ", was at \($0)" } ?? "")
        if from < to { text += "\n  skipped, without an answer: offsets \(from) to \(to - 1)" }
        if to < min(from, end) { text += "\n  read again: offsets \(to) to \(min(from, end) - 1)" }
        return text
    }
}

extension OptionValue<InputTopic> {
    fileprivate static var input: Self {
        let names = InputTopic.allCases.map { "\($0.name)" }
        return Self(names.joined(separator: "|"), "one of \(names.joined(separator: ", "))") { name in
            InputTopic.allCases.first { "\($0.name)" == name }
        }
    }
}
