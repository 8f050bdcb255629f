import ArgumentParser
import JuiceMaker
import JuiceMessages
import JuiceService
import Logging

/// `juice demo`: everything at once, in one process.
struct Demo: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "See it work: a broker, the service, tills and a restock bot in one process.",
        discussion: """
            On a terminal it shows the stores' stock and the latest answers until Ctrl-C; elsewhere it prints a line \
            for each answer. With --orders it goes as fast as it can and ends after so many answers.

            The last line is `orders N, juice made X, out of stock Y, rejected Z`, where N = X + Y + Z.

            Examples:
              juice demo
              juice demo --orders 2000 | tail -1
              juice demo --stores 강남,홍대 --language ko
            """
    )

    @Option(help: ArgumentHelp("End after this many order answers. (default: at Ctrl-C)", valueName: "count"))
    var orders: Int?

    @Option(
        help: ArgumentHelp(
            "The stores, separated by commas, or how many. (default: gangnam,hongdae,jamsil)",
            valueName: "names|count"
        )
    )
    var stores: String?

    @Option(
        help: ArgumentHelp("Repeats the orders of another run. (default: a new seed)", valueName: "number")
    )
    var seed: UInt64?

    @OptionGroup var menu: MenuOptions
    @OptionGroup var language: LanguageOptions
    @OptionGroup var general: GeneralOptions

    func run() throws {
        var flags = Flags()
        flags.set(.orders, orders)
        flags.set(.stores, stores)
        flags.set(.seed, seed)
        menu.add(to: &flags)
        language.add(to: &flags)
        let settings = try general.settings(flags)
        let orders = try settings.integer(.orders, in: 1...(.max))
        let stores = try settings.value(
            .stores,
            "names of 1 to 128 bytes, or a number up to 1000",
            Self.storeNames
        )
        let seed = try settings.value(.seed, "a whole number that is not negative") { UInt64($0) }
        let isLive = LiveTerminal.isPossible

        let heldLog = HeldLog()
        let level = try settings.logLevel(default: .warning)
        let run = DemoRun(
            stores: stores ?? ["gangnam", "hongdae", "jamsil"],
            menu: try settings.menu(),
            language: try settings.language(),
            seed: seed ?? .random(in: 0...UInt64(UInt32.max)),
            orders: orders,
            logger: isLive ? Log.logger(level: level, sink: heldLog.hold) : Log.logger(level: level)
        )
        // What was logged would have torn the live view apart, so it comes after it.
        defer { heldLog.release() }
        try run.run(isLive: isLive)
    }

    /// Store names from a list, or so many made-up ones.
    static func storeNames(_ text: String) -> [String]? {
        if let count = Int(text) {
            return (1...1000).contains(count) ? (1...count).map { "store-\($0)" } : nil
        }
        let names = text.split(separator: ",", omittingEmptySubsequences: false).map(String.init)
        let areFit = names.allSatisfy { (1...StoreID.maximumLength).contains($0.utf8.count) }
        return areFit && Set(names).count == names.count ? names : nil
    }
}
