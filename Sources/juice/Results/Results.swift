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
            Prints every answer there is, or with --last the last ones. With --follow it prints answers as they come, \
            from now on, until Ctrl-C.

            Examples:
              juice results --last 20
              juice results --follow --store gangnam
              juice results --json | jq -r .message
            """
    )

    @Flag(inversion: .prefixedNo, help: "Print answers as they come.")
    var follow: Bool?

    @Option(help: ArgumentHelp("Only this store.", valueName: "store"))
    var store: String?

    @Option(help: ArgumentHelp("Begin with the last answers, this many.", valueName: "count"))
    var last: Int?

    @Flag(inversion: .prefixedNo, help: "Print each record as it is, one a line.")
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

/// Prints answers, many at a time: a write for each would be most of the work.
private struct AnswerPrinter {
    let printsJSON: Bool
    let paint = Paint.forStandardOutput()

    /// Prints what `read` hands to the closure it is given.
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
