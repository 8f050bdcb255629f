import ArgumentParser
import JuiceRestockBot

/// `juice restock-bot`: refills what runs out.
struct RestockBotCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "restock-bot",
        abstract: "Refill what runs out: watch the stores and restock them, once per shortage.",
        discussion: """
            A fruit is short when LOW or fewer are left, or when an order found too little of it and there are fewer than \
            TARGET. The bot brings it up to TARGET, never beyond: one restock for all that a store is short of, and no other \
            for that store before the service has answered it. One that the service rejects is not sent again before the \
            stock changes. A store that no order or restock has ever touched is left alone.

            Each refill is sent exactly once, however many bots run and whichever of them dies: bots of one --bot-group \
            share the stores, a refill and the answers that it follows from are one Kafka transaction, and only the bot that \
            has a store can commit it. Another takes over within 10 seconds. (An embedded broker keeps no such promises.)

            A refill without an answer, because no service runs, is waited for and not sent again. Bots of different \
            groups know nothing of each other: give each its own --stores or --fruits.

            It prints a line for each refill, and runs until Ctrl-C or SIGTERM; with --once until nothing is short and \
            every refill is answered, or --timeout is over.

            Exit status: 0 ended or, with --once, done; 64 usage, 69 no broker or no answer, 70 failed, 78 bad \
            configuration or topics.

            Examples:
              juice restock-bot
              juice restock-bot --bootstrap-servers kafka:9092 --low 10 --target 100
              juice restock-bot --stores 강남,홍대 --fruits strawberry,mango --json
              juice restock-bot --once --timeout 60
            """
    )

    @Option(
        help: ArgumentHelp(
            "A fruit with so many left, or fewer, is refilled. (default: 5)",
            valueName: "count"
        )
    )
    var low: Int?

    @Option(
        help: ArgumentHelp("What it is refilled up to; more than --low. (default: 30)", valueName: "count")
    )
    var target: Int?

    @Option(help: ArgumentHelp("Only these stores, separated by commas. (default: all)", valueName: "names"))
    var stores: String?

    @Option(
        help: ArgumentHelp(
            "Only these fruits of the menu, by id or name, separated by commas. (default: all)",
            valueName: "names"
        )
    )
    var fruits: String?

    @Flag(inversion: .prefixedNo, help: "End once nothing is short and every refill is answered.")
    var once: Bool?

    @Option(help: ArgumentHelp("How long that may take. (default: 10)", valueName: "seconds"))
    var timeout: Double?

    @Option(
        help: ArgumentHelp(
            "The bots that share the stores: a consumer group, not the service's. (default: juice-restock-bot)",
            valueName: "name"
        )
    )
    var botGroup: String?

    @Option(help: ArgumentHelp("The service's consumer group. (default: juice-maker)", valueName: "name"))
    var group: String?

    @Flag(inversion: .prefixedNo, help: "Print each refill as a line of JSON.")
    var json: Bool?

    @OptionGroup var menu: MenuOptions
    @OptionGroup var kafka: KafkaOptions

    func run() throws {
        let settings = try kafka.settings(flags)
        let plan = try RestockBotPlan(settings)
        let printsJSON = try settings.boolean(.json)
        let paint = Paint.forStandardOutput()
        let interruption = Interruption()
        let bot = RestockBotRun(
            try Connection(settings),
            plan,
            logger: Log.logger(level: try settings.logLevel(default: .notice)),
            isEnded: { interruption.isRequested },
            show: { refill in
                StandardOutput.line(
                    printsJSON
                        ? RefillLine.json(refill)
                        : RefillLine.text(refill, time: ClockTime.now, paint: paint)
                )
            }
        )
        try bot.run()
    }

    private var flags: Flags {
        var flags = Flags()
        flags.set(.low, low)
        flags.set(.target, target)
        flags.set(.stores, stores)
        flags.set(.fruits, fruits)
        flags.set(.once, once)
        flags.set(.timeout, timeout)
        flags.set(.botGroup, botGroup)
        flags.set(.group, group)
        flags.set(.json, json)
        menu.add(to: &flags)
        return flags
    }
}
