import ArgumentParser
import Foundation
import JuiceClient
import JuiceMessages
import Kafka

/// `juice results`: shows the answers.
struct Results: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Show the service's answers.",
        discussion: """
            Prints all answers, or with --last the last ones. With --follow it prints new answers as they arrive, until \
            Ctrl-C.

            Examples:
              juice results --last 20
              juice results --follow --store gangnam
              juice results --json | jq -r .message
            """
    )

    @Flag(inversion: .prefixedNo, help: "Print new answers as they arrive.")
    var follow: Bool?

    @Option(help: ArgumentHelp("Only this store.", valueName: "store"))
    var store: String?

    @Option(help: ArgumentHelp("Start with this many of the last answers.", valueName: "count"))
    var last: Int?

    @Flag(inversion: .prefixedNo, help: "Print each record unchanged, one per line.")
    var json: Bool?

    @OptionGroup var timeout: TimeoutOption
    @OptionGroup var kafka: KafkaOptions

    func run() throws {
        let settings = try Settings(self)
        let timeout = try settings.timeout()
        let last = try settings.integer(.last, in: 0...(.max))
        let printer = AnswerPrinter(printsJSON: try settings.boolean(.json))

        let interruption = try settings.boolean(.follow) ? StopSignal.onInterruption() : nil
        let connection = try Connection(settings)
        let reader = try ResultsReader(
            connection,
            store: try settings.store(),
            deadline: Deadline(after: timeout)
        )
        if let last {
            try printer.collecting { body throws(Failure) in
                try reader.last(last, idleTimeout: timeout).forEach(body)
            }
        } else if interruption == nil {
            try printer.collecting { body throws(Failure) in try reader.readAll(idleTimeout: timeout, body) }
        }
        guard let interruption else { return }
        try reader.startFollowing()
        while !interruption.isRequested {
            try printer.collecting { body throws(Failure) in
                try reader.follow(timeout: .milliseconds(100), body)
            }
        }
    }
}

/// Prints answers in batches, because one write per answer would dominate the cost.
private struct AnswerPrinter {
    let printsJSON: Bool
    let paint = Paint.forStandardOutput()

    /// Prints the entries that `read` passes to its closure.
    func collecting(
        _ read: ((ResultsReader.Entry) -> Void) throws(Failure) -> Void
    ) throws(Failure) {
        var buffer: [UInt8] = []
        defer { if !buffer.isEmpty { StandardOutput.write(buffer) } }
        try read { entry in
            buffer += line(entry)
            if buffer.count > 65536 {
                StandardOutput.write(buffer)
                buffer.removeAll(keepingCapacity: true)
            }
        }
    }

    private func line(_ entry: ResultsReader.Entry) -> [UInt8] {
        guard !printsJSON else { return StandardOutput.jsonLine(entry.bytes) }
        guard let answer = entry.answer else {
            let text =
                "(partition \(entry.partition) offset \(entry.offset) is no answer that this version knows)\n"
            return Array(text.utf8)
        }
        let time = entry.timestamp.map { ClockTime.of(secondsSince1970: Int($0 / 1000)) }
        return Array(AnswerLine.text(answer, time: time, paint: paint).utf8) + [UInt8(ascii: "\n")]
    }
}
