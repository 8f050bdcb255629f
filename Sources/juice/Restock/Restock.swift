import ArgumentParser
import JuiceMaker
import JuiceMessages

/// `juice restock`: sends a stock edit.
struct Restock: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Change a store's stock.",
        discussion: """
            FRUIT=+N adds N, FRUIT=-N removes N, FRUIT=N sets N. One restock either adds or sets, for one or more fruits, \
            all or nothing. A fruit may be given by its id or its name in either language, in any case, with or without spaces.

            Exit status: 0 restocked (or sent), 3 rejected, 64 no such fruit, 69 no broker or no answer.

            Examples:
              juice restock strawberry=+16 kiwi=-2 --store gangnam --wait
              juice restock mango=30 --wait
              juice restock 딸기=+6
            """
    )

    @Argument(
        help: ArgumentHelp("What to change: FRUIT=+N, FRUIT=-N or FRUIT=N.", valueName: "fruit=amount"),
        completion: .list(Menu.standard.fruits.map { "\($0.id)=+" })) var amounts: [String]

    @Option(help: ArgumentHelp("The restock's id, of 1 to 128 bytes. (default: a new one)", valueName: "id"))
    var restockId: String?

    @OptionGroup var options: CommandOptions

    func run() throws {
        let settings = try Settings(self)
        var amounts = try RestockAmounts(amounts)
        if try !settings.boolean(.unchecked) { amounts = try amounts.resolved(by: MenuNames(menu: settings.menu())) }
        let command = OutgoingCommand.restock(
            id: try Submission.id(settings, .restockID), store: try settings.store() ?? StoreID.main, amounts.kind, amounts.amounts)
        try Submission(settings).run(command)
    }
}
