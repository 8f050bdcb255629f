import ArgumentParser
import JuiceService

/// The options of the commands that send something and may wait for its answer.
struct CommandOptions: ParsableArguments {
    @Option(help: ArgumentHelp("The store. (default: main)", valueName: "store"))
    var store: String?

    @Flag(inversion: .prefixedNo, help: "Wait for the answer and print it.")
    var wait: Bool?

    @Option(
        help: ArgumentHelp(
            "How long to wait for the broker and the answer. (default: 10)",
            valueName: "seconds"
        )
    )
    var timeout: Double?

    @Flag(inversion: .prefixedNo, help: "Print JSON: with --wait the answer's record as it is.")
    var json: Bool?

    @Flag(
        inversion: .prefixedNo,
        help: "Send names that are not on the menu: the service may have another one."
    )
    var unchecked: Bool?

    @OptionGroup var menu: MenuOptions
    @OptionGroup var kafka: KafkaOptions
}
