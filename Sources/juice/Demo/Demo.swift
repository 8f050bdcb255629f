import ArgumentParser
import JuiceMaker
import JuiceMessages
import JuiceService
import Logging

/// `juice demo`: everything in one process.
struct Demo: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "See it work: a broker, the service, points of sale and a restock bot in one process.",
        discussion: """
            On a terminal it shows the stores' stock and the latest answers until Ctrl-C; otherwise it prints a line \
            for each answer. With --orders it runs as fast as it can and ends after that many answers.

            With --kiosk it also serves the web page of `juice kiosk`. Without --staff-token-file it creates a token for this \
            run and prints it.

            The last line is `orders N, juice made X, out of stock Y, rejected Z, cancelled C`, where N = X + Y + Z.

            Examples:
              juice demo
              juice demo --orders 2000 | tail -1
              juice demo --stores 강남,홍대 --language ko
              juice demo --kiosk
            """
    )

    @OptionGroup var amount: TrafficOptions

    @Flag(inversion: .prefixedNo, help: "Also serve the web page.")
    var kiosk: Bool?

    @OptionGroup var page: KioskOptions
    @OptionGroup var menu: MenuOptions
    @OptionGroup var language: LanguageOptions
    @OptionGroup var general: GeneralOptions

    func run() throws {
        let settings = try Settings(self)
        let plan = try TrafficPlan(settings)
        let display: DemoRun.Display = LiveTerminal.isPossible ? .live : .lines

        let heldLines = HeldLines()
        let level = try settings.logLevel(default: .warning)
        let format = try settings.logFormat()
        let run = DemoRun(
            display: display, plan: plan, menu: try settings.menu(), language: try settings.language(),
            kiosk: try settings.boolean(.kiosk) ? DemoKiosk(settings, stores: plan.stores) : nil,
            logger: display == .live
                ? Logger.lines(level: level, format: format, sink: heldLines.hold) : Logger.lines(level: level, format: format))
        // Log lines would disturb the live view, so they are held back until it ends.
        defer { heldLines.release() }
        try run.run()
    }
}
