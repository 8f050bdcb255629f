import ArgumentParser
import JuiceService

/// The options of commands that send an order or a restock.
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

    @Flag(inversion: .prefixedNo, help: "Print JSON: with --wait the unchanged value of the answer's record.")
    var json: Bool?

    @Flag(
        inversion: .prefixedNo,
        help: "Send names that are not on this menu, because the service has another one."
    )
    var unchecked: Bool?

    @OptionGroup var menu: MenuOptions
    @OptionGroup var kafka: KafkaOptions
}
