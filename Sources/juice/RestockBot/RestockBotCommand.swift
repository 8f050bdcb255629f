import ArgumentParser
import JuiceClient
import JuiceRestockBot
import Kafka

/// `juice restock-bot`: refills what runs out.
struct RestockBotCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "restock-bot",
        abstract: "Refill what runs out: watch the stores and restock them, once per shortage.",
        discussion: """
            A fruit is short when LOW or fewer are left, or when an order found too little of it and there are fewer than \
            TARGET. The bot brings it up to TARGET, never beyond: one restock for all that a store is short of, and no other \
            for that store before the service has answered it. One that the service rejects is not sent again before the \
            stock changes. A store of which juice.results holds no answer any more is left alone until its next order.

            Each shortage is refilled once, however many bots run and whichever of them dies. Bots of one --bot-group share \
            the stores; another takes over within 10 seconds. It may send a refill again, but under the same id, which \
            follows from the answer that showed the shortage: so the service makes it once, within its duplicate window. \
            Bots of different groups know nothing of each other: give each its own --stores or --fruits.

            With --admin-http it shows its health and its metrics. It is ready while a broker answers and it reads what its group \
            gave it.

            It prints a line for each refill, and runs until Ctrl-C or SIGTERM; with --once until nothing is short and \
            every refill is answered, or --timeout is over. Exit status: 0 ended or, with --once, done; 64 usage, 69 no \
            broker or no answer, 70 failed, 78 bad configuration or topics.

            Examples:
              juice restock-bot
              juice restock-bot --bootstrap-servers kafka:9092 --low 10 --target 100
              juice restock-bot --stores 강남,홍대 --fruits strawberry,mango --json
              juice restock-bot --once --timeout 60
            """
    )

    @Option(help: .init("A fruit with so many left, or fewer, is refilled. (default: 5)", valueName: "count"))
    var low: Int?
    @Option(help: .init("What it is refilled up to; more than --low. (default: 30)", valueName: "count"))
    var target: Int?
    @Option(help: .init("Only these stores, separated by commas. (default: all)", valueName: "names"))
    var stores: String?
    @Option(help: .init("Only these fruits of the menu, by id or name. (default: all)", valueName: "names"))
    var fruits: String?
    @Flag(inversion: .prefixedNo, help: "End once nothing is short and every refill is answered.")
    var once: Bool?
    @Option(help: .init("How long that may take. (default: 10)", valueName: "seconds"))
    var timeout: Double?
    @Option(help: .init("The bots that share the stores. (default: juice-restock-bot)", valueName: "name"))
    var botGroup: String?
    @Flag(inversion: .prefixedNo, help: "Print each refill as a line of JSON, as --log-format json does.")
    var json: Bool?
    @OptionGroup var admin: AdminOptions
    @OptionGroup var menu: MenuOptions
    @OptionGroup var kafka: KafkaOptions

    func run() throws {
        let settings = try Settings(self)
        let plan = try RestockBotPlan(settings)
        let paint = Paint.forStandardOutput()
        let interruption = StopSignal.onInterruption()
        try RestockBotRun(
            connection: try Connection(settings),
            plan: plan,
            logger: try settings.logger(default: .notice),
            isEnded: { interruption.isRequested },
            show: { refill in
                let text = RefillLine.text(refill, time: ClockTime.now, paint: paint)
                StandardOutput.line(plan.printsJSON ? RefillLine.json(refill) : text)
            }
        )
        .run()
    }
}
