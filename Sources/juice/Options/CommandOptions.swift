import ArgumentParser
import JuiceService

/// The options of commands that send something to a store.
struct SubmissionOptions: ParsableArguments {
    @Option(help: ArgumentHelp("The store. (default: main)", valueName: "store"))
    var store: String?

    @Flag(inversion: .prefixedNo, help: "Wait for the answer and print it.")
    var wait: Bool?

    @Option(help: ArgumentHelp("How long to wait for the broker and the answer. (default: 10)", valueName: "seconds")) var timeout:
        Double?

    @Flag(inversion: .prefixedNo, help: "Print JSON: with --wait the unchanged value of the answer's record.")
    var json: Bool?

    @OptionGroup var kafka: KafkaOptions
}

/// The options of commands that send an order or a restock, whose names are looked up on the menu.
struct CommandOptions: ParsableArguments {
    @OptionGroup var submission: SubmissionOptions

    @Flag(inversion: .prefixedNo, help: "Send names that are not on this menu, because the service has another one.") var unchecked:
        Bool?

    @OptionGroup var menu: MenuOptions
}
