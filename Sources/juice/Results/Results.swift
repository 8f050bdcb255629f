import ArgumentParser
import Foundation
import JuiceMessages
import Kafka

/// `juice results`: shows the answers.
struct Results: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Show the service's answers.",
        discussion: """
            Prints all answers, or with --last the last ones. With --follow it prints new answers as they arrive, until \
            Ctrl-C. The revisions of a store have no gaps: if one is missing, that is shown in its place.

            Between the answers the service writes notes: what it forwarded or put aside, how far it has read, and who \
            owns a partition. They are of no store, and shown only with --notes.

            Examples:
              juice results --last 20
              juice results --follow --store gangnam
              juice results --json | jq -r .message
              juice results --notes --json | jq -c 'select(.type == "claim")'
            """
    )

    @Flag(inversion: .prefixedNo, help: "Print new answers as they arrive.")
    var follow: Bool?

    @Option(help: ArgumentHelp("Only this store.", valueName: "store"))
    var store: String?

    @Option(help: ArgumentHelp("Start with this many of the last answers.", valueName: "count"))
    var last: Int?

    @Flag(inversion: .prefixedNo, help: "Also print the service's notes.")
    var notes: Bool?

    @Flag(inversion: .prefixedNo, help: "Print each record unchanged, and missing revisions as objects, one per line.") var json:
        Bool?

    @OptionGroup var timeout: TimeoutOption
    @OptionGroup var kafka: KafkaOptions

    func run() throws {
        let settings = try Settings(self)
        let timeout = try settings.timeout()
        let last = try settings.integer(.last, in: 0...(.max))
        var printer = AnswerPrinter(ResultsFormat(paint: .forStandardOutput()), printsJSON: try settings.boolean(.json))

        let interruption = try settings.boolean(.follow) ? StopSignal.onInterruption() : nil
        let connection = try Connection(settings)
        let reader = try ResultsReader(
            connection, store: try settings.store(), showsNotes: try settings.boolean(.notes), deadline: Deadline(after: timeout))
        if let last {
            try printer.collecting { body throws(Failure) in try reader.last(last, idleTimeout: timeout).forEach(body) }
        } else if interruption == nil {
            try printer.collecting { body throws(Failure) in try reader.readAll(idleTimeout: timeout, body) }
        }
        guard let interruption else { return }
        try reader.startFollowing()
        while !interruption.isRequested {
            try printer.collecting { body throws(Failure) in try reader.follow(timeout: .milliseconds(100), body) }
        }
    }
}
