import ArgumentParser
import JuiceMaker
import JuiceMessages
import JuiceService
import Kafka

/// `juice traffic`: the demo's points of sale and restock bot, for a service that runs elsewhere.
struct SendTraffic: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "traffic", abstract: "Send simulated orders, cancels and restocks to a running service.",
        discussion: """
            Points of sale of a few stores order juices and baskets at a human pace and cancel some of them, a bot \
            restocks what runs out, and each answer is printed. With --orders it runs as fast as answers arrive and ends \
            after that many.

            The last line is `orders N, juice made X, out of stock Y, rejected Z, cancelled C`, where N = X + Y + Z.

            Examples:
              juice traffic
              juice traffic --bootstrap-servers kafka:9092 --orders 10000 | tail -1
            """
    )

    @OptionGroup var amount: TrafficOptions
    @OptionGroup var kafka: KafkaOptions
    @OptionGroup var menu: MenuOptions

    func run() throws {
        let settings = try Settings(self)
        let plan = try TrafficPlan(settings)
        let interruption = StopSignal.onInterruption()
        let session = try TrafficSession(
            Connection(settings),
            traffic: Traffic(
                stores: plan.stores, menu: try settings.menu(), seed: plan.seed,
                // Each run needs new ids: those of the last run were answered already.
                run: String(UInt64.random(in: 0...UInt64(UInt32.max)), radix: 36)), plan: plan)
        try session.run(until: { interruption.isRequested }, show: AnswerLine.write)
        StandardOutput.line(session.tally.summary)
    }
}
